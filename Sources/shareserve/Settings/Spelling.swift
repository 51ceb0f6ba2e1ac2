/// How names of settings are misspelt.
enum Spelling {
    /// The one of `names` that a person most likely meant by `name`; nil where none is near.
    ///
    /// Case and signs do not count, since other programs write `readOnly` or `read_only`; beside that, one letter may
    /// be missing, one too many or another one, or two neighbours be exchanged.
    static func nearest(to name: String, among names: some Collection<String>) -> String? {
        let given = letters(name)
        return names.filter { isNear(given, letters($0)) }
            // The same letters first; else the first by name, so that it is the same one each time.
            .min { (letters($0) == given ? 0 : 1, $0) < (letters($1) == given ? 0 : 1, $1) }
    }

    private static func letters(_ name: String) -> [Character] { name.lowercased().filter(\.isLetter).map { $0 } }

    /// Whether at most one slip of the fingers lies between them.
    private static func isNear(_ a: [Character], _ b: [Character]) -> Bool {
        let head = zip(a, b).prefix { $0 == $1 }.count
        let (x, y) = (a.dropFirst(head), b.dropFirst(head))
        let (shorterX, shorterY) = (x.dropFirst(), y.dropFirst())
        return x.elementsEqual(y) || shorterX.elementsEqual(shorterY)
            || shorterX.elementsEqual(y) || x.elementsEqual(shorterY)
            || (x.prefix(2).elementsEqual(y.prefix(2).reversed()) && x.dropFirst(2).elementsEqual(y.dropFirst(2)))
    }
}
