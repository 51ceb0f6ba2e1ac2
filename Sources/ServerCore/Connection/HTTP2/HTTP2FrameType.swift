/// The types of the frames that matter here.
///
/// RFC 9113 §6.
enum HTTP2FrameType {
    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let settings: UInt8 = 4
    static let goAway: UInt8 = 7
    static let continuation: UInt8 = 9
}
