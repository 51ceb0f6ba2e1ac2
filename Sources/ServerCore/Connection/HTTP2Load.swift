/// What the streams of one connection have given to it and its client has not taken yet.
///
/// A client may have a hundred streams and take nothing of any: they share what one connection may hold.
final class HTTP2Load {
    /// Bytes.
    var outstanding = 0

    /// Whether a stream only gets what keeps it going.
    var isHeavy: Bool { outstanding >= 1_024 * 1_024 }
}
