import NIOHTTP2

/// Recognises the frame layer's errors that concern one stream only, which it has already reset.
///
/// RFC 9113 §5.4.2, §8.1.1: a malformed request ends its stream, and the others continue.
enum HTTP2StreamFault {
    /// Whether the connection continues after `error`.
    /// - Parameters:
    ///   - error: as reported by the frame layer.
    ///   - hasSentGoAway: whether the frame layer has sent GOAWAY, which it only does for a connection error.
    /// - Returns: false when all streams end.
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

    /// Whether `error` may merely mean that a frame of ours was too late for its stream, and was not sent.
    ///
    /// The frame layer may know already that the body whose window a frame is to open has ended, or that the stream
    /// has, while earlier data is still being passed on. What it holds back for a full channel would be late too;
    /// ``HTTP2Parcels`` hides that from it.
    static func isOfLateFrame(_ error: any Error) -> Bool {
        error is NIOHTTP2Errors.BadStreamStateTransition || error is NIOHTTP2Errors.NoSuchStream
    }
}
