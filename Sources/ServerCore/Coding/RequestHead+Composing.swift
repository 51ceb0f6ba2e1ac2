extension RequestHead {
    /// Fills an empty head from parts that came in another form than HTTP/1.
    /// - Parameters:
    ///   - method: a token.
    ///   - target: the request target.
    ///   - lines: names and values, without blanks around them.
    package func compose(method: String, target: String, lines: some Sequence<(String, String)>) {
        func put(_ text: String) -> Range<Int> {
            let start = bytes.count
            bytes.append(contentsOf: text.utf8)
            return start..<bytes.count
        }
        methodRange = put(method)
        bytes.append(0x20)
        targetRange = put(target)
        bytes.append(0x20)
        for (name, value) in lines {
            let nameRange = put(name)
            bytes.append(UInt8(ascii: ":"))
            let valueRange = put(value)
            bytes.append(0x0A)
            let known = unsafe bytes.withUnsafeBytes {
                unsafe KnownField.named(UnsafeRawBufferPointer(rebasing: $0[nameRange]))
            }
            add(
                FieldSlot(
                    nameStart: UInt32(clamping: nameRange.lowerBound), nameCount: UInt32(clamping: nameRange.count),
                    valueStart: UInt32(clamping: valueRange.lowerBound), valueCount: UInt32(clamping: valueRange.count),
                    known: known))
        }
    }
}
