/// A number of bytes as people write it: digits, perhaps with a fraction, and one of the units K, M, G, T.
///
/// The units are powers of 1,024, in each spelling: `5K`, `5Ki`, `5KB`, `5 KiB`.
struct ByteCount {
    let bytes: Int64

    /// Nil for anything else, and for what does not fit 63 bits.
    init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let shift: Int
        switch text.dropFirst(digits.count).drop(while: { $0 == " " }).uppercased() {
        case "", "B": shift = 0
        case "K", "KI", "KB", "KIB": shift = 10
        case "M", "MI", "MB", "MIB": shift = 20
        case "G", "GI", "GB", "GIB": shift = 30
        case "T", "TI", "TB", "TIB": shift = 40
        default: return nil
        }
        if let whole = Int64(digits) {
            let (product, overflow) = whole.multipliedReportingOverflow(by: 1 << Int64(shift))
            guard !overflow else { return nil }
            bytes = product
        } else {
            guard digits.first != ".", let number = Double(digits),
                let whole = Int64(exactly: (number * Double(1 << Int64(shift))).rounded())
            else { return nil }
            bytes = whole
        }
    }
}
