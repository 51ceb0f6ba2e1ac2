extension String {
    /// The text with control characters and bidirectional controls as `\u{…}`: a name that is shown must neither
    /// control the terminal nor end the line.
    var harmless: String {
        guard unicodeScalars.contains(where: \.isHarmful) else { return self }
        return unicodeScalars.map { $0.isHarmful ? $0.escaped(asASCII: true) : String($0) }.joined()
    }
}

extension Unicode.Scalar {
    /// Whether a terminal may do something other than show it.
    var isHarmful: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
