/// Which links to folders a walk has followed that it met behind other links: each may be followed a few times only.
///
/// A link that lies in what is walked through itself is no matter: there are only as many as there are, and each has
/// what it leads to. Behind a link the same ones are met again on each way there, and the ways multiply: of twelve
/// folders with two links each to the next one, four thousand are below the first; eight that link each other have a
/// hundred thousand ways through them, without any loop.
package struct FollowedLinks {
    /// Enough for what a few links beside one another lead to, with its own links.
    private static let most: UInt8 = 3
    /// By the hash of where a link is: nothing else is remembered.
    private var times: [Int: UInt8] = [:]

    /// Of a walk that begins.
    package init() {}

    /// What is remembered, in bytes, about.
    package var byteCount: Int { times.capacity * 2 * MemoryLayout<Int>.stride }

    /// Follows a link once more.
    /// - Parameters:
    ///   - name: of the link.
    ///   - folder: which it is in, behind another link.
    /// - Returns: false when it has been followed too often already.
    package mutating func follow(_ name: [UInt8], in folder: DirectoryIdentity) -> Bool {
        var hasher = Hasher()
        hasher.combine(folder)
        hasher.combine(name)
        let link = hasher.finalize()
        let count = times[link, default: 0]
        guard count < Self.most else { return false }
        times[link] = count + 1
        return true
    }
}
