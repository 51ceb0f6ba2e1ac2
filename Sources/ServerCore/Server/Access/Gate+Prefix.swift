extension Gate {
    /// The prefix as this client writes it, so that the addresses in its answer begin as the one it asked for.
    func prefix(in head: RequestHeadView) -> String {
        let path = head.target.path
        guard !path.starts(with: prefix.utf8), let rest = RequestTarget.rest(of: path, below: prefix) else {
            return prefix
        }
        let written = path[..<rest.startIndex]
        // Answers take it as it is: nothing in it may mean anything in markup or in a field.
        let isPlain = written.allSatisfy { byte in
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || "/%-._~".utf8.contains(byte)
        }
        return isPlain ? String(decoding: written, as: UTF8.self) : prefix
    }
}
