/// A text as a QR code, for a phone's camera.
///
/// ISO/IEC 18004: byte mode, error correction level M, versions 1 to 13. Always mask 0: any mask is allowed, and
/// readers do as well with it as with the one that scores best.
package struct QRCode: Sendable {
    /// Rows of modules, dark ones true, without the quiet zone.
    package let modules: [[Bool]]

    /// Encodes the text's UTF-8; nil when it is longer than 331 bytes.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let version = Version.fitting(bytes.count) else { return nil }
        var grid = QRGrid(version: version.number)
        grid.fill(with: version.codewords(of: bytes))
        modules = grid.rows
    }

    /// The code for a terminal, two rows of modules per line, light on dark, with its quiet zone.
    package var terminal: String {
        let size = modules.count
        func isLight(_ row: Int, _ column: Int) -> Bool {
            guard modules.indices.contains(row), modules.indices.contains(column) else { return true }
            return !modules[row][column]
        }
        var text = ""
        for row in stride(from: -2, to: size + 2, by: 2) {
            for column in -2..<(size + 2) {
                switch (isLight(row, column), isLight(row + 1, column)) {
                case (true, true): text += "█"
                case (true, false): text += "▀"
                case (false, true): text += "▄"
                case (false, false): text += " "
                }
            }
            text += "\n"
        }
        return text
    }

    /// The code as an SVG image, dark on white with its quiet zone.
    package var svg: [UInt8] {
        let extent = modules.count + 8
        var text =
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-4 -4 \(extent) \(extent)\" shape-rendering=\"crispEdges\">"
        text += "<rect x=\"-4\" y=\"-4\" width=\"100%\" height=\"100%\" fill=\"#fff\"/><path d=\""
        for (y, row) in modules.enumerated() {
            for (x, isDark) in row.enumerated() where isDark { text += "M\(x) \(y)h1v1h-1z" }
        }
        return Array((text + "\"/></svg>\n").utf8)
    }
}

extension QRCode {
    /// How many bytes a size of code holds, and how they are divided into blocks.
    fileprivate struct Version {
        let number: Int
        /// The number of check codewords of each block.
        let checks: Int
        let blocks: Int
        /// The number of data codewords of the shorter blocks; the last `longer` blocks have one more.
        let length: Int
        let longer: Int

        private static let levelM = [
            (10, 1, 16, 0), (16, 1, 28, 0), (26, 1, 44, 0), (18, 2, 32, 0), (24, 2, 43, 0), (16, 4, 27, 0),
            (18, 4, 31, 0),
            (22, 4, 38, 2), (22, 5, 36, 2), (26, 5, 43, 1), (30, 5, 50, 4), (22, 8, 36, 2), (22, 9, 37, 1),
        ]

        private var capacity: Int { blocks * length + longer }
        private var lengthBits: Int { number < 10 ? 8 : 16 }

        /// The smallest version that holds `count` bytes after the mode and length fields.
        static func fitting(_ count: Int) -> Version? {
            levelM.enumerated().lazy
                .map { Version(number: $0 + 1, checks: $1.0, blocks: $1.1, length: $1.2, longer: $1.3) }
                .first { $0.capacity * 8 >= 4 + $0.lengthBits + count * 8 }
        }

        /// The data and check codewords, with the blocks interleaved.
        func codewords(of bytes: [UInt8]) -> [UInt8] {
            var bits: [Bool] = []
            func put(_ value: Int, _ width: Int) {
                for shift in (0..<width).reversed() { bits.append(value >> shift & 1 == 1) }
            }
            put(4, 4)
            put(bytes.count, lengthBits)
            for byte in bytes { put(Int(byte), 8) }
            put(0, min(4, capacity * 8 - bits.count))
            put(0, (8 - bits.count % 8) % 8)
            var data = stride(from: 0, to: bits.count, by: 8).map { start in
                bits[start..<(start + 8)].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
            }
            for padding in 0..<(capacity - data.count) { data.append(padding % 2 == 0 ? 0xEC : 0x11) }
            var cut: [[UInt8]] = []
            for index in 0..<blocks {
                let size = length + (index >= blocks - longer ? 1 : 0)
                cut.append(Array(data.prefix(size)))
                data.removeFirst(size)
            }
            let ends = cut.map { ReedSolomon.checks(of: $0, count: checks) }
            return Self.interleaved(cut) + Self.interleaved(ends)
        }

        private static func interleaved(_ blocks: [[UInt8]]) -> [UInt8] {
            let longest = blocks.map(\.count).max() ?? 0
            return (0..<longest).flatMap { index in blocks.compactMap { $0.count > index ? $0[index] : nil } }
        }
    }
}

/// Check codewords over the Galois field of 256 elements with the polynomial 0x11D.
private enum ReedSolomon {
    private static let exponents: [UInt8] = {
        var value = 1
        return (0..<255).map { _ in
            defer { value = value << 1 ^ (value > 127 ? 0x11D : 0) }
            return UInt8(truncatingIfNeeded: value)
        }
    }()

    private static let logarithms: [Int] = {
        var table = [Int](repeating: 0, count: 256)
        for (power, value) in exponents.enumerated() { table[Int(value)] = power }
        return table
    }()

    private static func times(_ a: UInt8, _ b: UInt8) -> UInt8 {
        a == 0 || b == 0 ? 0 : exponents[(logarithms[Int(a)] + logarithms[Int(b)]) % 255]
    }

    static func checks(of data: [UInt8], count: Int) -> [UInt8] {
        var generator: [UInt8] = [1]
        for power in 0..<count {
            var next = generator + [0]
            for (index, coefficient) in generator.enumerated() {
                next[index + 1] ^= times(coefficient, exponents[power])
            }
            generator = next
        }
        var rest = data + [UInt8](repeating: 0, count: count)
        for index in data.indices {
            let factor = rest[index]
            for (offset, coefficient) in generator.enumerated() { rest[index + offset] ^= times(coefficient, factor) }
        }
        return Array(rest.suffix(count))
    }
}

/// The square while it is being drawn: a module that is not set yet is nil.
private struct QRGrid {
    private let size: Int
    private var cells: [[Bool?]]

    var rows: [[Bool]] { cells.map { $0.map { $0 ?? false } } }

    /// Draws what all codes of the version have in common: finder patterns, timing, alignment, version and format.
    init(version: Int) {
        size = 17 + 4 * version
        cells = Array(repeating: Array(repeating: nil, count: size), count: size)
        for index in 0..<size {
            set(index, 6, index % 2 == 0)
            set(6, index, index % 2 == 0)
        }
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { square(x, y, radius: 4, light: [2, 4]) }
        let last = size - 7
        let centers = version < 2 ? [] : version < 7 ? [6, last] : [6, (size - 1) / 2, last]
        for y in centers {
            for x in centers where !(x == 6 && y == 6 || x == 6 && y == last || x == last && y == 6) {
                square(x, y, radius: 2, light: [1])
            }
        }
        if version > 6 {
            let bits = Self.checked(version, 12, 0x1F25)
            for index in 0..<18 {
                set(size - 11 + index % 3, index / 3, bits >> index & 1 == 1)
                set(index / 3, size - 11 + index % 3, bits >> index & 1 == 1)
            }
        }
        // Level M and mask 0 are both encoded as zeros.
        let format = Self.checked(0, 10, 0x537) ^ 0x5412
        for index in 0..<15 {
            let bit = format >> index & 1 == 1
            set(8, index < 6 ? index : index < 8 ? index + 1 : size - 15 + index, bit)
            set(index < 8 ? size - 1 - index : index == 8 ? 7 : 14 - index, 8, bit)
        }
        set(8, size - 8, true)
    }

    /// Places the codewords in columns of two, up and down, and applies the mask.
    mutating func fill(with words: [UInt8]) {
        var bit = 0
        var right = size - 1
        var isUpward = true
        while right > 0 {
            if right == 6 { right = 5 }
            for step in 0..<size {
                let y = isUpward ? size - 1 - step : step
                for x in [right, right - 1] where cells[y][x] == nil {
                    let isDark = bit / 8 < words.count && words[bit / 8] >> (7 - bit % 8) & 1 == 1
                    cells[y][x] = isDark != ((x + y) % 2 == 0)
                    bit += 1
                }
            }
            right -= 2
            isUpward.toggle()
        }
    }

    private mutating func set(_ x: Int, _ y: Int, _ isDark: Bool) {
        guard cells.indices.contains(x), cells.indices.contains(y) else { return }
        cells[y][x] = isDark
    }

    /// Draws concentric square rings, dark except those listed.
    private mutating func square(_ x: Int, _ y: Int, radius: Int, light: Set<Int>) {
        for down in -radius...radius {
            for across in -radius...radius { set(x + across, y + down, !light.contains(max(abs(across), abs(down)))) }
        }
    }

    /// A number followed by its check bits.
    private static func checked(_ value: Int, _ width: Int, _ polynomial: Int) -> Int {
        var rest = value << width
        for shift in (width..<24).reversed() where rest >> shift & 1 == 1 { rest ^= polynomial << (shift - width) }
        return value << width | rest
    }
}
