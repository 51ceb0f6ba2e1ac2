/// Counts how often a walk has followed each link that it met behind another link: beyond a thousand of such links
/// in all, each may be followed a few times only.
///
/// Links in the walked tree itself need no limit: each is met once. Behind links the same ones are met again by every
/// way there, and the ways multiply: if each of twelve folders has two links to the next one, four thousand are below
/// the first; eight folders that link to each other have a hundred thousand ways through them, without any loop.
package struct FollowedLinks {
    /// How many are followed in any case: so many packages that share a library with links of its own are ordinary.
    private static let free = 1_000
    /// How often each may be followed beyond that.
    private static let most: UInt8 = 3
    private var followed = 0
    /// By the hash of the link's place; nothing else is remembered.
    private var times: [Int: UInt8] = [:]

    /// For a walk that begins.
    package init() {}

    /// About how much memory this takes, in bytes.
    package var byteCount: Int { times.capacity * 2 * MemoryLayout<Int>.stride }

    /// Follows a link once more.
    /// - Parameters:
    ///   - name: of the link.
    ///   - folder: the folder that it is in, itself behind another link.
    /// - Returns: false when it has been followed too often already.
    package mutating func follow(_ name: [UInt8], in folder: DirectoryIdentity) -> Bool {
        var hasher = Hasher()
        hasher.combine(folder)
        hasher.combine(name)
        let link = hasher.finalize()
        let count = times[link, default: 0]
        guard followed < Self.free || count < Self.most else { return false }
        followed += 1
        times[link] = min(count, Self.most) + 1
        return true
    }
}
