import DirectoryRoot
import Synchronization
import TestSupport
import Testing

@Suite("ShareObserver") struct ShareObserverTests {
    /// Refuses what it is set to refuse, and records the rest.
    private final class Witness: ShareObserver {
        private let state = Mutex<(refused: Set<ShareChange>, seen: [ShareChange])>(([], []))

        var seen: [ShareChange] { state.withLock { $0.seen } }

        func refuse(_ change: ShareChange) { state.withLock { _ = $0.refused.insert(change) } }

        func mayHappen(_ change: ShareChange, by user: String?) -> Bool {
            state.withLock { !$0.refused.contains(change) }
        }

        func didHappen(_ change: ShareChange, by user: String?) { state.withLock { $0.seen.append(change) } }
    }

    private let directory: TemporaryDirectory
    private let witness = Witness()
    private let share: Share

    init() throws {
        directory = try TemporaryDirectory()
        var policy = RootPolicy()
        policy.observer = witness
        share = Share(root: try DirectoryRoot(path: directory.path, policy: policy))
    }

    private func path(_ text: String) throws -> SharePath { try SharePath(bytes: text.utf8) }

    private func upload(_ text: String) throws {
        let upload = try share.beginUpload(to: try path(text), replacing: .anything)
        try upload.write([1])
        _ = try upload.commit()
    }

    /// Creates a file where one is about to be uploaded.
    private struct Rival: ShareObserver {
        let directory: TemporaryDirectory

        func mayHappen(_ change: ShareChange, by user: String?) -> Bool {
            if case .upload(let path) = change {
                try? directory.write("theirs", to: String(path.description.dropFirst()))
            }
            return true
        }
    }

    @Test("Who may only add names gets no lock on what somebody else makes just then", arguments: [false, true])
    func lockOfAnothersFile(mayOverwrite: Bool) throws {
        let directory = try TemporaryDirectory()
        var policy = RootPolicy()
        policy.observer = Rival(directory: directory)
        var share = Share(root: try DirectoryRoot(path: directory.path, policy: policy))
        share.rights = RightsMap(rules: [(.root, mayOverwrite ? .readWrite : .dropBox)])
        let request = LockRequest(isExclusive: true, isRecursive: false, owner: [], timeout: nil)
        if mayOverwrite {
            #expect(try !share.lock(path("a"), request).created)
        } else {
            #expect(throws: RootError.forbidden) { try share.lock(path("a"), request) }
        }
        #expect(try share.root.state.locks.isEmpty() != mayOverwrite)
        #expect(directory.text("a") == "theirs")
    }

    @Test("each change is told once, when it has happened")
    func told() throws {
        let (a, b, folder) = (try path("a"), try path("b"), try path("folder"))
        try upload("a")
        try share.createDirectory(at: folder)
        _ = try share.copy(a, to: b, replacing: .nothing)
        _ = try share.move(b, to: folder.appending("c".utf8), replacing: .nothing)
        _ = try share.remove(a)
        #expect(
            witness.seen == [
                .upload(a), .createDirectory(folder), .copy(from: a, to: b),
                .move(from: b, to: try path("folder/c")), .delete(a),
            ])
    }

    @Test("what the app refuses does not happen, and is not told")
    func refused() throws {
        try directory.write("x", to: "a")
        let (a, b) = (try path("a"), try path("b"))
        for change in [.upload(a), .createDirectory(b), .copy(from: a, to: b), .move(from: a, to: b), .delete(a)]
            as [ShareChange]
        {
            witness.refuse(change)
        }
        #expect(throws: RootError.forbidden) { try upload("a") }
        #expect(throws: RootError.forbidden) { try share.createDirectory(at: b) }
        #expect(throws: RootError.forbidden) { try share.copy(a, to: b, replacing: .nothing) }
        #expect(throws: RootError.forbidden) { try share.move(a, to: b, replacing: .nothing) }
        #expect(throws: RootError.forbidden) { try share.remove(a) }
        #expect(throws: RootError.forbidden) { try share.moveToTrash(a) }
        #expect(witness.seen.isEmpty)
        #expect(directory.read("a") == Array("x".utf8))
    }

    @Test("a further name may be tried when one is taken")
    func otherName() throws {
        try directory.write("x", to: "a")
        try directory.write("x", to: "b")
        let upload = try share.beginUpload(to: try path("c"), replacing: .nothing)
        try upload.write([1, 2])
        #expect(throws: RootError.exists) { try upload.commit(to: try path("a")) }
        #expect(throws: RootError.exists) { try upload.commit(to: try path("b")) }
        #expect(try upload.commit(to: try path("d")).created)
        #expect(directory.read("d") == [1, 2])
        #expect(witness.seen == [.upload(try path("d"))])
    }
}
