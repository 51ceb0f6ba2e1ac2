/// Finds the setting that a misspelt name means.
enum Spelling {
    /// The one of `names` that was most likely meant by `name`; nil when none is similar.
    ///
    /// Case and punctuation do not count, since other programs write `readOnly` or `read_only`; besides, one letter may
    /// be missing, added or wrong, or two neighbours be exchanged.
    static func nearest(to name: String, among names: some Collection<String>) -> String? {
        let given = letters(name)
        return names.filter { isNear(given, letters($0)) }
            // Equal letters first; else the first by name, so that the result is the same each time.
            .min { (letters($0) == given ? 0 : 1, $0) < (letters($1) == given ? 0 : 1, $1) }
    }

    private static func letters(_ name: String) -> [Character] { name.lowercased().filter(\.isLetter).map { $0 } }

    /// Whether at most one typing error lies between them.
    private static func isNear(_ a: [Character], _ b: [Character]) -> Bool {
        let head = zip(a, b).prefix { $0 == $1 }.count
        let (x, y) = (a.dropFirst(head), b.dropFirst(head))
        let (shorterX, shorterY) = (x.dropFirst(), y.dropFirst())
        return x.elementsEqual(y) || shorterX.elementsEqual(shorterY)
            || shorterX.elementsEqual(y) || x.elementsEqual(shorterY)
            || (x.prefix(2).elementsEqual(y.prefix(2).reversed()) && x.dropFirst(2).elementsEqual(y.dropFirst(2)))
    }
}
