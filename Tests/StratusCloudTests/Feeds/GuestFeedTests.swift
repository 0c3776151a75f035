// The feed of a zone for its participants, scenario by scenario; random histories are in `FeedHistoryTests`.

import Foundation
import StratusCloud
import StratusModel
import StratusRecords
import StratusStore
import StratusTestSupport
import Testing

@Suite("feeds: a participant's zone")
struct GuestFeedTests {
    /// Alice's tree: top / folder / (file / page), and a second one; the folder is shared with Bob.
    private static func bench() throws -> RecordBench {
        let bench = try RecordBench.forSharing()
        _ = try bench.modify([
            .new("top"), .new("folder", parent: "top"), .new("file", parent: "folder"), .new("page", parent: "file"),
            .new("second", parent: "top"), .new("leaf", parent: "second"), .new("alone"),
        ]).saves.map { try $0.get() }
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        return bench
    }

    @Test(
        "[SH-05][D-03][X-06][T-17][M-08] a participant's feed contains the share, its root and its descendants, and nothing else"
    )
    func beginning() throws {
        let bench = try Self.bench()
        var replica = Replica()
        let told = try replica.pull(bench, by: bench.bob, limit: 1)
        #expect(told.changed == ["Share", "file", "folder", "page"])
        #expect(told.deleted.isEmpty)
        #expect(replica.records["folder"]?.parent == nil)
        #expect(replica.records["file"]?.parent?.target == bench.shared("folder"))
        #expect(replica.records["Share"]?.type == "cloudkit.share")
        let carol = try bench.person("carol")
        let share = try bench.share("second", as: "Other", with: [.email("carol@example.com")])
        #expect(try bench.pageError(by: carol).code == .zoneNotFound)
        #expect(try replica.pull(bench, by: bench.bob).changed.isEmpty)
        _ = try bench.accept(share, by: carol).get()
        #expect(try Set(bench.page(by: carol).changed.map(\.address.recordName)) == ["Other", "second", "leaf"])
        #expect(try replica.pull(bench, by: bench.bob) == Told(changed: [], deleted: [], pageCount: 1))
    }

    @Test("[D-12] a record moved into a shared tree appears with all its descendants, and one moved out is deleted")
    func moves() throws {
        let bench = try Self.bench()
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.move("second", below: "file")
        #expect(try replica.pull(bench, by: bench.bob).changed == ["leaf", "second"])
        try bench.move("file", below: "alone")
        let told = try replica.pull(bench, by: bench.bob)
        #expect(told == Told(changed: [], deleted: ["file", "leaf", "page", "second"], pageCount: 1))
        try bench.move("leaf", below: "folder")
        try bench.move("leaf", below: "alone")
        #expect(try replica.pull(bench, by: bench.bob) == Told(changed: [], deleted: [], pageCount: 1))
        try bench.move("leaf", below: "folder")
        try bench.touch("page")
        #expect(try replica.pull(bench, by: bench.bob).changed == ["leaf"])
        #expect(replica.names == ["Share", "folder", "leaf"])
    }

    @Test(
        "[D-12] among changes that are not seen, what moved into and out of the shared tree is reported, page by page",
        arguments: [1, 3, 100])
    func movesAmongUnseen(limit: Int) throws {
        let bench = try Self.bench()
        let others = (0..<12).map { "out\($0)" }
        _ = try bench.modify(
            others.map { RecordSave.new($0, parent: "second") } + [
                .new("in", parent: "folder"), .new("below", parent: "in"), .new("shelf", parent: "alone"),
                .new("box", parent: "shelf"),
            ]
        ).saves.map { try $0.get() }
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        // The entries of these two changes name parents that move afterwards.
        try bench.touch("below")
        try bench.touch("box")
        for name in others { try bench.touch(name) }
        try bench.move("in", below: "second")
        try bench.move("out0", below: "folder")
        try bench.touch("out1")
        try bench.move("shelf", below: "folder")
        try bench.move("page", below: "second")
        let told = try replica.pull(bench, by: bench.bob, limit: limit)
        #expect(told.changed == ["box", "out0", "shelf"])
        #expect(told.deleted == ["below", "in", "page"])
        #expect(replica.names == ["Share", "box", "file", "folder", "out0", "shelf"])
    }

    @Test("[T-06][D-12] a record that left the share is reported where more moved than the page has changes")
    func movesWhereManyMoved() throws {
        let bench = try Self.bench()
        let others = (0..<12).map { "out\($0)" }
        for result in try bench.modify(others.map { .new($0, parent: "alone") }).saves { _ = try result.get() }
        for name in others { try bench.move(name, below: "second") }
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.move("page", below: "second")
        let told = try replica.pull(bench, by: bench.bob)
        #expect(told == Told(changed: [], deleted: ["page"], pageCount: 1))
    }

    @Test(
        "[D-06][D-08][P-15][X-16] losing one of several shares removes its records, and losing the last removes the zone"
    )
    func losing() throws {
        let bench = try Self.bench()
        try bench.share("second", as: "Other", with: bench.bob, "bob@example.com")
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        #expect(replica.names == ["Other", "Share", "file", "folder", "leaf", "page", "second"])
        try bench.permit(bench.bob, nil, in: "Share")
        let told = try replica.pull(bench, by: bench.bob)
        #expect(told == Told(changed: [], deleted: ["Share", "file", "folder", "page"], pageCount: 1))
        try bench.remove("Other", by: bench.bob)
        #expect(try bench.pageError(replica.token, by: bench.bob).code == .zoneNotFound)
        #expect(
            try bench.pageError(by: bench.bob).description == bench.pageError(replica.token, by: bench.bob).description)
        // A person who comes back with their old data gets the difference.
        let again = try bench.change("Share") { $0.participants.append(.email("bob@example.com")) }.get()
        _ = try bench.accept(again, by: bench.bob).get()
        try replica.pull(bench, by: bench.bob)
        #expect(replica.names == ["Share", "file", "folder", "page"])
    }

    @Test("[P-09] without a permission nothing is seen; with the permission restored, everything is")
    func permissionNone() throws {
        let bench = try Self.bench()
        try bench.share("second", as: "Other", with: bench.bob, "bob@example.com")
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.permit(bench.bob, ParticipantPermission.none, in: "Share")
        #expect(try replica.pull(bench, by: bench.bob).deleted == ["Share", "file", "folder", "page"])
        try bench.permit(bench.bob, .readOnly, in: "Share")
        #expect(try replica.pull(bench, by: bench.bob).changed == ["Share", "file", "folder", "page"])
        try bench.permit(bench.bob, .readWrite, in: "Share")
        #expect(try replica.pull(bench, by: bench.bob).changed == ["Share"])
    }

    @Test("[SH-10][X-03] stopping a share removes its records from the feed, and sharing again brings them back")
    func stopping() throws {
        let bench = try Self.bench()
        try bench.share("second", as: "Other", with: bench.bob, "bob@example.com")
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.remove("Share")
        #expect(try replica.pull(bench, by: bench.bob).deleted == ["Share", "file", "folder", "page"])
        try bench.share("file", as: "Share", with: bench.bob, "bob@example.com")
        #expect(try replica.pull(bench, by: bench.bob).changed == ["Share", "file", "page"])
        #expect(replica.records["file"]?.parent == nil)
    }

    @Test("[D-04][SH-09] a zone that is shared whole is reported in full, and is gone when it is no longer shared")
    func zoneWide() throws {
        let bench = try Self.bench()
        try bench.remove("Share")
        var replica = Replica()
        let share = try bench.shareNotes(with: [.email("bob@example.com")])
        _ = try bench.accept(share, by: bench.bob).get()
        try replica.pull(bench, by: bench.bob, limit: 2)
        #expect(replica.names == ["alone", "cloudkit.zoneshare", "file", "folder", "leaf", "page", "second", "top"])
        try bench.remove("alone")
        try bench.move("second", below: nil)
        #expect(try replica.pull(bench, by: bench.bob) == Told(changed: ["second"], deleted: ["alone"], pageCount: 1))
        try bench.remove("cloudkit.zoneshare")
        try bench.share("second", as: "Other", with: bench.bob, "bob@example.com")
        let told = try replica.pull(bench, by: bench.bob)
        #expect(told.changed == ["Other", "second"])
        #expect(told.deleted == ["cloudkit.zoneshare", "file", "folder", "page", "top"])
        #expect(replica.names == ["Other", "leaf", "second"])
    }

    @Test("[D-04] in a zone that is shared whole a change of a record without a parent is reported")
    func zoneWideAndChanged() throws {
        let bench = try Self.bench()
        try bench.remove("Share")
        let share = try bench.shareNotes(with: [.email("bob@example.com")])
        _ = try bench.accept(share, by: bench.bob).get()
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.touch("alone")
        try bench.touch("leaf")
        let told = try replica.pull(bench, by: bench.bob)
        #expect(told == Told(changed: ["alone", "leaf"], deleted: [], pageCount: 1))
    }

    @Test(
        "[D-04][D-12] a record that moved while the zone's share started or stopped is reported once with all its descendants"
    )
    func zoneWideAndMoved() throws {
        let bench = try Self.bench()
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.remove("Share")
        let share = try bench.shareNotes(with: [.email("bob@example.com")])
        _ = try bench.accept(share, by: bench.bob).get()
        try bench.move("second", below: "alone")
        var told = try replica.pull(bench, by: bench.bob, limit: 1)
        #expect(told.changed == ["alone", "cloudkit.zoneshare", "folder", "leaf", "second", "top"])
        #expect(told.deleted == ["Share"])
        try bench.remove("cloudkit.zoneshare")
        try bench.share("second", as: "Other", with: bench.bob, "bob@example.com")
        try bench.move("folder", below: "alone")
        told = try replica.pull(bench, by: bench.bob, limit: 1)
        #expect(told.changed == ["Other", "second"])
        #expect(told.deleted == ["alone", "cloudkit.zoneshare", "file", "folder", "page", "top"])
    }

    @Test("[X-09] a suspended account gets no changes, and afterwards the difference")
    func suspended() throws {
        let bench = try Self.bench()
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        try bench.service.setStanding(.needsVerification, of: bench.bob.id)
        try bench.touch("page")
        #expect(try bench.pageError(replica.token, by: bench.bob).code == .accountTemporarilyUnavailable)
        try bench.service.setStanding(.good, of: bench.bob.id)
        #expect(try replica.pull(bench, by: bench.bob).changed == ["page"])
    }

    @Test("[X-15][SH-13] the share in a participant's feed shows only the people they may know of")
    func shareRecord() throws {
        let bench = try Self.bench()
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        _ = try bench.change("Share") { $0.participants.append(.email("eve@example.com")) }.get()
        #expect(try replica.pull(bench, by: bench.bob).changed == ["Share"])
        #expect(replica.records["Share"]?.sharing?.participants.count == 2)
        #expect(try bench.ownShare("Share").sharing?.participants.count == 3)
    }

    @Test(
        "[D-12] a change that is withheld while its record is temporarily hidden is sent when the record is visible again"
    )
    func withheld() throws {
        let bench = try Self.bench()
        var replica = Replica()
        var step = 0
        // The pages come between the changes: the root is reported, then the file is away, then it is back.
        try replica.pull(bench, by: bench.bob, limit: 1) {
            step += 1
            if step == 2 { try bench.move("file", below: "alone") }
            if step == 3 { try bench.move("file", below: "folder") }
        }
        #expect(step >= 3)
        #expect(replica.names == ["Share", "file", "folder", "page"])
    }

    @Test("a page is bounded by the work for it, and reports how much work that was and that more is coming")
    func boundedWork() throws {
        let bench = try RecordBench.forSharing(inMemory: true, runsBodiesTwice: false) { $0.feedLookCount = 50 }
        try bench.share("root", as: "Share", with: bench.bob, "bob@example.com")
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        _ = try bench.modify((0..<300).map { .new("hidden\($0)") })
        try bench.touch("root")
        var (emptyCount, lookCount) = (0, 0)
        while true {
            let page = try bench.page(replica.token, by: bench.bob)
            replica.apply(page)
            lookCount += page.lookCount
            guard page.isMoreComing else { break }
            #expect(page.changed.isEmpty)
            #expect(page.lookCount == 50)
            emptyCount += 1
        }
        #expect(emptyCount >= 5)
        #expect(lookCount > 300)
        #expect(replica.records["root"]?.fields["text"]?.value == .string("again"))
    }

    /// Bob's folder with a file, its page and three notes, complete in a replica; a second folder is outside.
    private static func settled() throws -> (RecordBench, Replica) {
        let bench = try Self.bench()
        for name in ["a", "b", "c"] { try bench.save(.new(name, parent: "folder")) }
        var replica = Replica()
        try replica.pull(bench, by: bench.bob)
        return (bench, replica)
    }

    @Test(
        "[D-12] a record that moved out and is written while the pages are read is reported deleted with its descendants"
    )
    func writtenMeanwhile() throws {
        let (bench, whole) = try Self.settled()
        var replica = whole
        try bench.touch("a")
        try bench.move("file", below: "alone")
        try bench.save(.new("leaf2", parent: "file"))
        var isFirst = true
        // The entry of the move is after the end of the round at its turn, and its descendants have changed.
        let told = try replica.pull(bench, by: bench.bob, limit: 1) {
            guard isFirst else { return }
            isFirst = false
            try bench.touch("file")
            try bench.save(.new("secret", parent: "file"))
            try bench.move("page", below: "alone")
        }
        #expect(told.deleted == ["file", "page"], "what was never seen is not named")
        #expect(replica.names == ["Share", "a", "b", "c", "folder"])
    }

    @Test("[D-12] a record that was hidden at its turn and is visible before the round ends is reported")
    func outOfSight() throws {
        let (bench, whole) = try Self.settled()
        var replica = whole
        try bench.touch("a")
        try bench.move("second", below: "file")
        try bench.touch("b")
        try bench.touch("c")
        var step = 0
        try replica.pull(bench, by: bench.bob, limit: 1) {
            step += 1
            if step == 1 { try bench.move("file", below: "alone") }
            if step == 2 { try bench.move("file", below: "folder") }
        }
        #expect(replica.names == ["Share", "a", "b", "c", "file", "folder", "leaf", "page", "second"])
        #expect(try replica.pull(bench, by: bench.bob) == Told(changed: [], deleted: [], pageCount: 1))
    }

    @Test("[T-07] a deletion has the type of the record that its reader had, even if another record took the name")
    func deletedTypes() throws {
        let bench = try RecordBench.forSharing()
        let names = (0..<38).map { "x\($0)" }
        try bench.save(.new("folder"), .new("inner", parent: "folder"), .new("alone"), .new("other"))
        try bench.save(.new("deep", parent: "inner"), .new("share", parent: "folder"))
        _ = try bench.modify(names.map { .new($0, parent: "folder") }).saves.map { try $0.get() }
        try bench.share("folder", as: "Share", with: bench.bob, "bob@example.com")
        var (alices, bobs) = (Replica(), Replica())
        try alices.pull(bench)
        try bobs.pull(bench, by: bench.bob)
        // One or two successors of each, of either type, within the share or outside; the last of them lives or not.
        let lives = ["Note", "Page"].flatMap { type in ["folder", "alone"].map { (type: type, parent: $0) } }
        let sequences = lives.map { [$0] } + lives.flatMap { first in lives.map { [first, $0] } }
        for (index, name) in names.enumerated() {
            try bench.remove(name)
            let sequence = sequences[index % sequences.count]
            for (number, life) in sequence.enumerated() {
                try bench.save(.new(name, type: life.type, parent: life.parent))
                if index < sequences.count || number + 1 < sequence.count { try bench.remove(name) }
            }
        }
        // One below the record that moves out of the share, and one whose name is reused by a share without Bob.
        for name in ["deep", "share"] { try bench.remove(name) }
        try bench.save(.new("deep", type: "Page", parent: "inner"))
        try bench.move("inner", below: "alone")
        try bench.share("other", as: "share", with: [.email("carol@example.com")])
        for (replica, account, limit) in [(alices, bench.alice, 0), (alices, bench.alice, 3), (bobs, bench.bob, 0)] {
            var (token, count) = (replica.token, 0)
            while true {
                let page = try bench.page(token, limit: limit, by: account)
                for deletion in page.deleted {
                    let name = deletion.address.recordName
                    #expect(deletion.type == replica.records[name]?.type, "\(name) is gone as a \(deletion.type)")
                }
                (token, count) = (page.token, count + page.deleted.count)
                guard page.isMoreComing else { break }
            }
            #expect(count >= sequences.count)
        }
    }
}
