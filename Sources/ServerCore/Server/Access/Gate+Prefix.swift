extension Gate {
    /// The prefix as this client writes it, so that the addresses in the response begin like the requested one.
    func prefix(in head: RequestHeadView) -> String {
        let path = head.target.path
        guard !path.starts(with: prefix.utf8), let rest = RequestTarget.rest(of: path, below: prefix) else {
            return prefix
        }
        let written = path[..<rest.startIndex]
        // It is copied into responses unchanged: it must not contain anything that has a meaning in markup or in a
        // field.
        let isPlain = written.allSatisfy { byte in
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || "/%-._~".utf8.contains(byte)
        }
        return isPlain ? String(decoding: written, as: UTF8.self) : prefix
    }
}
