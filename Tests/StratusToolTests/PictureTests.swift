// Which parts of a hierarchy are drawn or folded, and how it is drawn, without a store.

import Foundation
import StratusModel
import StratusRecords
import Testing

@testable import stratus

/// Records in memory: names with the names below them.
private struct SampleTree: PictureSource {
    var children: [String: [String]]
    var shares: [String: String] = [:]
    /// The viewer does not see these, nor their descendants.
    var unseen: Set<String> = []
    /// The descendants of these are counted, and not visited otherwise.
    var closed: Set<String> = []

    private func below(_ name: String) -> [String] {
        (children[name] ?? []).flatMap { [$0] + below($0) }
    }

    private func rootCount(atOrBelow name: String) -> Int { ([name] + below(name)).count { shares[$0] != nil } }

    func visitChildren(of parent: RecordName?, didLook: () -> Void, _ visit: (Child) throws -> Void) throws {
        let parent = parent?.text ?? "/"
        #expect(!closed.contains(parent), "visited what lies below \(parent)")
        for name in children[parent] ?? [] {
            didLook()
            if unseen.contains(name) { continue }
            try visit(Child(name: RecordName(name), hasChildren: children[name] != nil))
        }
    }

    func recordCount(below name: RecordName, didLook: () -> Void) throws -> (children: Int, all: Int) {
        var count = (children: 0, all: 0)
        for child in children[name.text] ?? [] {
            didLook()
            if unseen.contains(child) { continue }
            let below = try recordCount(below: RecordName(child), didLook: didLook)
            count = (count.children + 1, count.all + 1 + below.all)
        }
        return count
    }

    func ways(toRootsBelow parent: RecordName?, limit: Int) throws -> [RecordName: Int] {
        let ways = (children[parent?.text ?? "/"] ?? []).map { (RecordName($0), rootCount(atOrBelow: $0)) }
        return Dictionary(uniqueKeysWithValues: ways.filter { $0.1 > 0 }.prefix(limit))
    }

    func rootCount(below parent: RecordName?) throws -> Int {
        below(parent?.text ?? "/").count { shares[$0] != nil }
    }

    func facts(of name: RecordName) throws -> PictureFacts? {
        PictureFacts(label: name.text, type: "Item", share: shares[name.text].map { RecordName($0) })
    }
}

@Suite("pictures")
struct PictureTests {
    private func fold(
        _ tree: SampleTree, nodes: Int, depth: Int? = nil, from root: String? = nil
    ) throws -> TreePicture {
        var folder = TreeFolder(tree, PictureLimits(nodeCount: nodes, depth: depth))
        let child = root.map { Child(name: RecordName($0), hasChildren: tree.children[$0] != nil) }
        let folded = try folder.fold(from: child)
        let shares = folded.shares.map { name in
            PictureShare(name: name.text, rootLabel: nil, publicPermission: "nothing", people: [])
        }
        return TreePicture(title: "t", copyDate: nil, nodes: folded.nodes, fold: folded.fold, shares: shares)
    }

    /// "top(a(x y) b+2)": nodes with their children, and how many are folded.
    private func text(_ picture: TreePicture) -> String {
        var lines = picture.nodes.map { node in
            String(repeating: " ", count: node.level) + node.name.text
                + (node.share.map { (node.isRoot ? "*" : "~") + "\($0)" } ?? "")
                + (node.fold.isEmpty ? "" : " +\(node.fold.childCount)/\(node.fold.recordCount)/\(node.fold.rootCount)")
        }
        let fold = picture.fold
        if !fold.isEmpty { lines.append("+\(fold.childCount)/\(fold.recordCount)/\(fold.rootCount)") }
        return lines.joined(separator: "\n")
    }

    private let small = SampleTree(children: ["/": ["a", "b"], "a": ["c", "d"], "d": ["e"]], shares: ["d": "s"])

    @Test("everything is drawn if there is room, parents before children, with the share each is in")
    func whole() throws {
        #expect(try text(fold(small, nodes: 100)) == "a\n c\n d*0\n  e~0\nb")
        #expect(try text(fold(small, nodes: 100, depth: 1)) == "a\n c\n d*0 +1/1/0\nb")
        #expect(try text(fold(small, nodes: 100, depth: 0)) == "a +2/3/1\nb")
        #expect(try text(fold(small, nodes: 100, from: "d")) == "d*0\n e~0")
    }

    @Test("a picture has at most the requested records, and counts every other one exactly once")
    func bounds() throws {
        var children: [String: [String]] = ["/": (0..<40).map { "t\($0)" }]
        for top in 0..<40 {
            children["t\(top)"] = (0..<30).map { "t\(top)-\($0)" }
            children["t\(top)-3"] = (0..<9).map { "t\(top)-3-\($0)" }
        }
        let tree = SampleTree(children: children)
        let all = 40 + 40 * 30 + 40 * 9
        for count in [1, 2, 5, 17, 60, 160, 1_000, 20_000] {
            for depth in [nil, 0, 1, 2] {
                let picture = try fold(tree, nodes: count, depth: depth)
                #expect(picture.nodes.count <= count)
                #expect(picture.recordCount == all, "\(count) nodes, depth \(depth ?? -1)")
                #expect(picture.nodes.allSatisfy { $0.level <= depth ?? 9 })
            }
        }
    }

    @Test("paths to roots of shares are kept with priority, and folded roots are counted")
    func ways() throws {
        var tree = SampleTree(children: ["/": (10..<99).map { "n\($0)" }, "n90": ["deep"], "deep": ["root"]])
        tree.shares = ["root": "s"]
        #expect(try text(fold(tree, nodes: 8)) == "n10\nn11\nn12\nn90\n deep\n  root*0\n+85/85/0")
        tree.shares = ["n10": "s1", "n11": "s2", "n12": "s3", "n13": "s4", "n14": "s5", "n15": "s6"]
        #expect(try text(fold(tree, nodes: 8)) == "n10*0\nn11*1\nn12*2\nn13*3\n+85/87/2")
    }

    @Test("a chain of ten thousand records is folded, laid out and drawn with a constant stack")
    func deepChain() throws {
        var folder = TreeFolder(ChainTree(count: 10_000), PictureLimits(nodeCount: 12_000, depth: nil))
        let folded = try folder.fold(from: nil)
        #expect(folded.nodes.count == 10_000)
        let picture = TreePicture(title: "t", copyDate: nil, nodes: folded.nodes, fold: folded.fold, shares: [])
        #expect(TreeLayout(picture, x: 0, y: 0).boxes.count == 10_000)
        #expect(TreeSVG.text(of: picture).utf8.count > 1_000_000)
    }

    @Test("each record is read once, drawn or not, seen or not, and progress is reported")
    func progress() throws {
        let names = (0..<3_000).map { "child \($0)" }
        let wide = SampleTree(children: ["/": ["top"], "top": names])
        var unseenChildren = wide
        unseenChildren.unseen = Set(names)
        let unseenTops = SampleTree(children: ["/": names, names[0]: ["below"]], unseen: Set(names))
        let sources: [(source: any PictureSource, depth: Int?, lookedCount: Int)] = [
            (ChainTree(count: 1_000), nil, 1_000), (wide, nil, 3_001), (wide, 0, 3_001),
            (unseenChildren, nil, 3_001), (unseenChildren, 0, 3_001), (unseenTops, nil, 3_000),
        ]
        for (source, depth, lookedCount) in sources {
            var told: [Int] = []
            var folder = TreeFolder(source, PictureLimits(nodeCount: 10, depth: depth)) { told.append($0) }
            _ = try folder.fold(from: nil)
            #expect(told == Array(stride(from: 256, through: lookedCount, by: 256)))
        }
    }

    @Test("the descendants of a closed record are read once: its children are counted with them")
    func closedFolders() throws {
        var tree = SampleTree(children: ["/": ["a", "b"], "a": ["c", "d", "e"], "d": ["f", "g"]])
        tree.closed = ["a", "d"]
        #expect(try text(fold(tree, nodes: 100, depth: 0)) == "a +3/5/0\nb")
        tree.unseen = ["c", "g"]
        #expect(try text(fold(tree, nodes: 100, depth: 0)) == "a +2/3/0\nb")
    }

    @Test("boxes never overlap, and are to the right of their parents")
    func layout() throws {
        var children: [String: [String]] = ["/": (0..<30).map { "t\($0)" }]
        for top in stride(from: 0, to: 30, by: 3) { children["t\(top)"] = (0..<20).map { "t\(top) child \($0)" } }
        let picture = try fold(SampleTree(children: children), nodes: 120)
        let boxes = TreeLayout(picture, x: 20, y: 50).boxes
        for (index, box) in boxes.enumerated() {
            for other in boxes[..<index] {
                let apartX = box.x + box.width <= other.x || other.x + other.width <= box.x
                let apartY = box.y + TreeLayout.boxHeight <= other.y || other.y + TreeLayout.boxHeight <= box.y
                #expect(apartX || apartY, "\(box.text) over \(other.text)")
            }
            if let parent = box.parent { #expect(boxes[parent].x + boxes[parent].width < box.x) }
        }
    }

    /// A share with a person of every kind, and a name that is markup.
    private var sharedPicture: TreePicture {
        var picture = TreePicture(
            title: "db://c/id:anna/home", copyDate: nil,
            nodes: [
                PictureNode(name: "home", label: "Home", type: "Folder", level: 0, parent: nil, share: nil),
                PictureNode(
                    name: "list", label: "<b>List</b>", type: "List", level: 1, parent: 0, share: 0, isRoot: true,
                    fold: PictureFold(childCount: 2, recordCount: 1_234, rootCount: 0)),
                PictureNode(name: "milk", label: "Milk", type: "Item", level: 2, parent: 1, share: 0),
            ],
            fold: PictureFold(childCount: 3, recordCount: 7, rootCount: 2),
            shares: [
                PictureShare(
                    name: "share-1", rootLabel: "<b>List</b>", publicPermission: "read only",
                    people: [
                        PicturePerson(title: "anna", role: "owner", rights: .readWrite, hasAccepted: true),
                        PicturePerson(title: "ben", role: "privateUser", rights: .readOnly, hasAccepted: false),
                        PicturePerson(title: "cleo", role: "privateUser", rights: .none, hasAccepted: true),
                    ])
            ])
        picture.moreShareCount = 2
        return picture
    }

    @Test("golden text: DOT")
    func dot() throws {
        let expected = #"""
            digraph stratus {
              graph [rankdir=LR, labelloc=t, fontname="monospace", \#
            label="db://c/id:anna/home: 1,244 records, 3 of them drawn, 3 shares"];
              node [shape=box, style=filled, fontname="monospace", fontsize=11, fillcolor="#f6f7f9", color="#5b6675"];
              edge [color="#8b95a5", arrowhead=none];
              n0 [label="Home", tooltip="Home (Folder), record home"];
              n1 [label="<b>List</b>  S1", \#
            tooltip="<b>List</b> (List), record list, root of share share-1", \#
            color="#0b5cad", fillcolor="#e8f2fc", penwidth=3];
              n0 -> n1;
              n2 [label="Milk  S1", \#
            tooltip="Milk (Item), record milk, in share share-1", color="#0b5cad", fillcolor="#e8f2fc", penwidth=1];
              n1 -> n2;
              f1 [label="… 1,234 more", style=dashed, fontcolor="#566173"];
              n1 -> f1;
              f [label="… 7 more, 2 share roots", style=dashed, fontcolor="#566173"];
              s0 [shape=note, label="S1  share-1\lof <b>List</b>\lanyone with its URL: read only\l", \#
            color="#0b5cad", fontcolor="#0b5cad", style=bold];
              n1 -> s0 [style=bold, color="#0b5cad"];
              p0_0 [shape=ellipse, style=solid, label="anna\lowner, accepted\l"];
              s0 -> p0_0 [label="read, write", fontname="monospace", fontsize=10, style=bold, color="#0b5cad"];
              p0_1 [shape=ellipse, style=solid, label="ben\lprivateUser, invited\l"];
              s0 -> p0_1 [label="read only", fontname="monospace", fontsize=10, style=dashed, color="#0b5cad"];
              p0_2 [shape=ellipse, style=solid, label="cleo\lprivateUser, accepted\l"];
              s0 -> p0_2 [label="nothing", fontname="monospace", fontsize=10, style=dotted, color="#0b5cad"];
              s [label="… 2 more shares", style=dashed, fontcolor="#566173"];
            }

            """#
        #expect(TreeDOT.text(of: sharedPicture) == expected)
        #expect(try DOTScanner(expected).words.prefix(3) == ["digraph", "stratus", "graph"])
    }

    @Test("golden text: the records of a page")
    func html() throws {
        let page = TreeHTML.text(of: sharedPicture, openLevelCount: 1) { $0.map { "see '\($0.name.text)'" } }
        let start = try #require(page.range(of: "<ul class=\"tree\">"))
        let expected = """
            <ul class="tree">
            <li><details open><summary><bdi>Home</bdi> <span class="soft">Folder</span></summary><ul>
            <li><details><summary><bdi class="root">&lt;b&gt;List&lt;/b&gt;</bdi> <span class="soft">List</span> \
            <span class="badge c0">S1</span> <span class="soft">root of the share</span></summary><ul>
            <li><span class="leaf"><bdi>Milk</bdi> <span class="soft">Item</span> <span class="badge c0">S1</span></span></li>
            <li><span class="more">… 1,234 more: <code>see &#39;list&#39;</code></span></li>
            </ul></details></li>
            </ul></details></li>
            <li><span class="more">… 7 more, 2 share roots</span></li>
            </ul>
            </main>
            </body>
            </html>

            """
        #expect(page[start.lowerBound...] == expected)
        let scanned = try MarkupScanner(page)
        #expect(scanned.text.contains("<b>List</b>"))
        #expect(scanned.text.contains("ben"))
        #expect(scanned.text.contains("invited"))
    }

    @Test("golden text: the records and shares of an SVG, which is valid XML and repeats its colours in words")
    func svg() throws {
        let picture = TreeSVG.text(of: sharedPicture)
        let scanned = try MarkupScanner(picture)
        let expected = """
            db://c/id:anna/home
            1,244 records, 3 of them drawn, 3 shares
            db://c/id:anna/home
            1,244 records, 3 of them drawn, 3 shares
            Home (Folder), record home
            Home
            <b>List</b> (List), record list, root of share share-1
            <b>List</b>
            S1
            Milk (Item), record milk, in share share-1
            Milk
            S1
            … 1,234 more
            … 7 more, 2 share roots
            Shares
            S1
            <b>List</b> and all below: share share-1
            anyone with its URL may: read only
            read, write
            anna  owner, accepted
            read only
            ben  privateUser, invited
            nothing
            cleo  privateUser, accepted
            … 2 more shares
            """
        #expect(Self.texts(picture).joined(separator: "\n") == expected)
        #expect(scanned.attributes["svg.xmlns"] == ["http://www.w3.org/2000/svg"])
        #expect(scanned.attributes["svg.width"]?.first == "640")
    }

    /// The text between the tags of titles, descriptions and texts, in order.
    private static func texts(_ picture: String) -> [String] {
        picture.split(separator: "<").compactMap { part in
            guard ["title", "desc", "text"].contains(where: part.hasPrefix), let end = part.firstIndex(of: ">")
            else { return nil }
            let text = part[part.index(after: end)...]
            return try? MarkupScanner("<x>" + text + "</x>").text
        }.filter { !$0.isEmpty }
    }
}

/// A chain of records, one below the other.
private struct ChainTree: PictureSource {
    let count: Int

    private func level(_ name: RecordName) -> Int { Int(name.text) ?? 0 }
    private func child(_ level: Int) -> Child { Child(name: RecordName("\(level)"), hasChildren: level + 1 < count) }

    func visitChildren(of parent: RecordName?, didLook: () -> Void, _ visit: (Child) throws -> Void) throws {
        let next = parent.map { level($0) + 1 } ?? 0
        guard next < count else { return }
        didLook()
        try visit(child(next))
    }

    func recordCount(below name: RecordName, didLook: () -> Void) throws -> (children: Int, all: Int) {
        let below = count - 1 - level(name)
        for _ in 0..<below { didLook() }
        return (min(below, 1), below)
    }
    func ways(toRootsBelow parent: RecordName?, limit: Int) throws -> [RecordName: Int] { [:] }
    func rootCount(below parent: RecordName?) throws -> Int { 0 }
    func facts(of name: RecordName) throws -> PictureFacts? { PictureFacts(label: name.text, type: "Item") }
}
