import DirectoryRoot
import Testing

@testable import ServerCore

@Suite("Conditions")
struct ConditionsTests {
    static let file = FileAttributes(
        kind: .file, size: 10, modified: Timestamp(seconds: 784_111_777, nanoseconds: 5), created: nil,
        accessed: Timestamp(seconds: 0), changed: Timestamp(seconds: 0), inode: 7, device: 1)
    static let tag = file.entityTag.text
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    static let after = "Sun, 06 Nov 1994 08:49:38 GMT"

    private func outcome(
        _ conditions: Conditions, isRead: Bool = true, of file: FileAttributes? = Self.file
    ) -> Conditions.Outcome {
        conditions.evaluate(file, isRead: isRead)
    }

    @Test("If-Match compares strongly")
    func ifMatch() {
        #expect(outcome(Conditions(ifMatch: Self.tag)) == .proceed)
        #expect(outcome(Conditions(ifMatch: "\"x\", " + Self.tag)) == .proceed)
        #expect(outcome(Conditions(ifMatch: "W/" + Self.tag)) == .failed)
        #expect(outcome(Conditions(ifMatch: "*")) == .proceed)
        #expect(outcome(Conditions(ifMatch: "*"), of: nil) == .failed)
        #expect(outcome(Conditions(ifMatch: Self.tag), of: nil) == .failed)
        #expect(outcome(Conditions(ifMatch: "")) == .failed)
    }

    @Test("If-None-Match compares weakly, 304 for reads and 412 for writes")
    func ifNoneMatch() {
        #expect(outcome(Conditions(ifNoneMatch: Self.tag)) == .notModified)
        #expect(outcome(Conditions(ifNoneMatch: "\"a,b\",W/" + Self.tag)) == .notModified)
        #expect(outcome(Conditions(ifNoneMatch: Self.tag), isRead: false) == .failed)
        #expect(outcome(Conditions(ifNoneMatch: "*"), isRead: false) == .failed)
        #expect(outcome(Conditions(ifNoneMatch: "*"), isRead: false, of: nil) == .proceed)
        #expect(outcome(Conditions(ifNoneMatch: "\"other\"")) == .proceed)
    }

    @Test("Joplin's tag without quotes does no harm", arguments: [true, false])
    func unquoted(isRead: Bool) {
        #expect(outcome(Conditions(ifNoneMatch: "JoplinIgnore-123"), isRead: isRead) == .proceed)
        #expect(outcome(Conditions(ifNoneMatch: "JoplinIgnore-123"), isRead: isRead, of: nil) == .proceed)
    }

    @Test("What has no tag is there, and is nothing that has one")
    func untagged() {
        #expect(Conditions(ifMatch: "\"a\"").evaluateUntagged() == .failed)
        #expect(Conditions(ifMatch: "\"a\"", ifNoneMatch: "*").evaluateUntagged() == .failed)
        #expect(Conditions(ifMatch: "*", ifNoneMatch: "*").evaluateUntagged() == .notModified)
        #expect(Conditions(ifNoneMatch: "\"a\"").evaluateUntagged() == .proceed)
        #expect(Conditions(ifModifiedSince: Self.after).evaluateUntagged() == .proceed)
        #expect(Conditions(ifUnmodifiedSince: Self.before).evaluateUntagged() == .proceed)
    }

    @Test("Dates count whole seconds")
    func dates() {
        #expect(outcome(Conditions(ifModifiedSince: Self.date)) == .notModified)
        #expect(outcome(Conditions(ifModifiedSince: Self.after)) == .notModified)
        #expect(outcome(Conditions(ifModifiedSince: Self.before)) == .proceed)
        #expect(outcome(Conditions(ifModifiedSince: Self.date), isRead: false) == .proceed)
        #expect(outcome(Conditions(ifUnmodifiedSince: Self.date)) == .proceed)
        #expect(outcome(Conditions(ifUnmodifiedSince: Self.before)) == .failed)
        #expect(outcome(Conditions(ifUnmodifiedSince: "yesterday")) == .proceed)
        #expect(outcome(Conditions(ifModifiedSince: "0")) == .proceed)
    }

    @Test("Tags go before dates")
    func precedence() {
        #expect(outcome(Conditions(ifNoneMatch: "\"x\"", ifModifiedSince: Self.after)) == .proceed)
        #expect(outcome(Conditions(ifMatch: Self.tag, ifUnmodifiedSince: Self.before)) == .proceed)
        #expect(outcome(Conditions(ifMatch: "\"x\"", ifNoneMatch: Self.tag)) == .failed)
        #expect(outcome(Conditions(ifMatch: Self.tag, ifNoneMatch: Self.tag)) == .notModified)
        #expect(outcome(Conditions(ifNoneMatch: Self.tag, ifUnmodifiedSince: Self.before)) == .failed)
    }

    @Test("The gzip form's tag names the same content")
    func gzip() {
        #expect(outcome(Conditions(ifNoneMatch: Self.file.entityTag.gzipText)) == .notModified)
        #expect(outcome(Conditions(ifMatch: Self.file.entityTag.gzipText), isRead: false) == .proceed)
    }

    @Test("A write checks again what it is given")
    func replacement() {
        guard case .anything = Conditions().replacement else {
            Issue.record("no condition must not cost a check")
            return
        }
        guard case .when(let check) = Conditions(ifMatch: Self.tag).replacement else {
            Issue.record("a condition must be checked")
            return
        }
        #expect(check(Self.file))
        #expect(!check(nil))
    }

    @Test("If-Range takes the strong tag or the very date")
    func ifRange() {
        #expect(Conditions.allowsRange(ifRange: nil, of: Self.file))
        #expect(Conditions.allowsRange(ifRange: Self.tag, of: Self.file))
        #expect(Conditions.allowsRange(ifRange: Self.date, of: Self.file))
        for field in [
            "W/" + Self.tag, Self.tag + ", \"x\"", "\"x\", " + Self.tag, "\"x\"", "*", Self.before, Self.after, "",
            "garbage",
        ] {
            #expect(!Conditions.allowsRange(ifRange: field, of: Self.file), "\(field)")
        }
    }

    @Test(
        "Hostile lists neither match nor trap",
        arguments: ["\"", "W/\"", "W/", ",,,,", "\"\"\"", "\u{0}", String(repeating: "\"a\",", count: 10_000), "\"é\""])
    func hostile(field: String) {
        #expect(outcome(Conditions(ifNoneMatch: field)) == .proceed)
        #expect(outcome(Conditions(ifMatch: field)) == .failed)
    }
}
