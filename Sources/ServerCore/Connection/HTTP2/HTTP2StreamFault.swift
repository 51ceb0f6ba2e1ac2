import NIOHTTP2

/// Tells which errors of the frame layer are the fault of one stream, which it has reset by then.
///
/// RFC 9113 §5.4.2, §8.1.1: a malformed request ends its stream, and the others go on.
enum HTTP2StreamFault {
    /// Whether the connection goes on after `error`.
    /// - Parameters:
    ///   - error: as the frame layer tells it.
    ///   - hasSentGoAway: the frame layer has, which it only does when the fault is the connection's.
    /// - Returns: false where all streams are over.
    static func isOne(_ error: any Error, hasSentGoAway: Bool) -> Bool {
        switch error {
        case is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.TrailersWithoutEndStream:
            true
        case is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue,
            is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeadersMismatch:
            true
        case is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName,
            is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue:
            true
        case is NIOHTTP2Errors.MissingPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
            is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.UnknownPseudoHeader,
            is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.InvalidPseudoHeaders,
            is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.EmptyPathHeader:
            true
        // Of a stream, unless the frame layer has sent GOAWAY: RFC 9113 §6.9, §6.9.1.
        case is NIOHTTP2Errors.InvalidWindowIncrementSize, is NIOHTTP2Errors.InvalidFlowControlWindowSize:
            !hasSentGoAway
        default: false
        }
    }

    /// Whether `error` may only say that a frame of ours came too late for its stream, and was not sent.
    ///
    /// The frame layer may know already that the body whose window a frame is to open has ended, or that the stream
    /// has, while what came before is just being handed on. What it keeps for a channel that is full comes late, too;
    /// that is hidden from it by ``HTTP2Parcels``.
    static func isOfLateFrame(_ error: any Error) -> Bool {
        error is NIOHTTP2Errors.BadStreamStateTransition || error is NIOHTTP2Errors.NoSuchStream
    }
}
