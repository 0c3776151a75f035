// Lists and items of one person, and concurrent changes by two devices.

import StratusKit
import Testing

@Suite struct ListTests {
    @Test("a person signs in by mail, makes a list, and finds it and its items again")
    func story() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("Alice@Example.com".lowercased(), at: server)
            let me = try await alice.expect(200, "GET", "/v1/me")
            #expect(me.json["emails"].elements == [.string("alice@example.com")])
            #expect(me.json["device"].text == "phone")

            for path in ["/v1/lists", "/v1/shared"] {
                #expect(try await alice.expect(200, "GET", path).json["lists"].elements == [])
            }
            let list = try await alice.makeList("Groceries")
            for title in ["Milk", "Bread", "Tea"] { _ = try await alice.addItem(title, to: list.id) }
            let lists = try await alice.expect(200, "GET", "/v1/lists").json["lists"].elements
            #expect(lists.map { $0["title"].text } == ["Groceries"])
            #expect(lists.map { $0["owner"].text } == ["me"])
            #expect(try await alice.titles(of: list.id) == ["Milk", "Bread", "Tea"])
        }
    }

    @Test("a person may be named by their user record too, as in what others have sent them")
    func ownName() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let answer = try await alice.expect(200, "GET", "/v1/lists/\(try await alice.user())/\(list.id)")
            #expect(answer.json["owner"].text == "me")
        }
    }

    @Test("a change needs the tag of what was seen, and one that comes too late is answered with what is there")
    func conflicts() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let item = try await alice.addItem("Milk", to: list.id)
            let path = "/v1/lists/me/\(list.id)/items/\(item.id)"
            #expect(item.etag == item.json["etag"].text)

            #expect(try await alice.expect(428, "PATCH", path, #"{"done":true}"#).code == "ifMatchMissing")
            let done = try await alice.expect(200, "PATCH", path, #"{"done":true}"#, ifMatch: item.etag)
            #expect(done.json["done"].isTrue)
            #expect(done.etag != item.etag)

            let late = try await alice.expect(412, "PATCH", path, #"{"title":"Oat milk"}"#, ifMatch: item.etag)
            #expect(late.code == "changed")
            #expect(late.etag == done.etag)
            #expect(late.json["current"]["done"].isTrue)
            let merged = try await alice.expect(200, "PATCH", path, #"{"title":"Oat milk"}"#, ifMatch: late.etag)
            #expect(merged.json["title"].text == "Oat milk")
            #expect(merged.json["done"].isTrue)
            try await alice.expect(200, "PATCH", path, #"{"done":false}"#, ifMatch: "*")
            try await alice.expect(412, "PATCH", path, #"{"done":true}"#, ifMatch: "W/\(merged.etag)")
            #expect(try await alice.expect(400, "DELETE", path, ifMatch: merged.etag).code == "ifMatchUnsupported")
        }
    }

    @Test("of many devices that change an item at once, exactly one has seen what is there")
    func race() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let item = try await alice.addItem("Milk", to: list.id)
            let path = "/v1/lists/me/\(list.id)/items/\(item.id)"
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        try await alice.send("PATCH", path, #"{"title":"\#(number)"}"#, ifMatch: item.etag).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1)
            #expect(statuses.filter { $0 == 412 }.count == 11)
        }
    }

    @Test("a request that is sent again with the same name makes nothing twice")
    func chosenNames() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            try await alice.expect(201, "POST", "/v1/lists", #"{"id":"groceries","title":"Groceries"}"#)
            let again = try await alice.expect(409, "POST", "/v1/lists", #"{"id":"groceries","title":"Groceries"}"#)
            #expect(again.code == "changed")
            #expect(again.json["current"]["title"].text == "Groceries")
        }
    }

    @Test("an item moves to another list, and a list is deleted with its items")
    func movingAndDeleting() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let groceries = try await alice.makeList("Groceries")
            let later = try await alice.makeList("Later")
            let item = try await alice.addItem("Milk", to: groceries.id)
            let moved = try await alice.expect(
                200, "PATCH", "/v1/lists/me/\(groceries.id)/items/\(item.id)", #"{"list":"\#(later.id)"}"#,
                ifMatch: item.etag)
            #expect(moved.json["list"].text == later.id)
            #expect(try await alice.titles(of: groceries.id) == [])
            #expect(try await alice.titles(of: later.id) == ["Milk"])
            try await alice.expect(404, "GET", "/v1/lists/me/\(groceries.id)/items/\(item.id)")
            try await alice.expect(
                404, "PATCH", "/v1/lists/me/\(later.id)/items/\(item.id)", #"{"list":"nowhere"}"#, ifMatch: "*")

            try await alice.expect(204, "DELETE", "/v1/lists/me/\(later.id)")
            try await alice.expect(404, "GET", "/v1/lists/me/\(later.id)/items/\(item.id)")
            #expect(try await alice.titles(of: groceries.id) == [])
        }
    }

    @Test("a long list comes in pages, and its changes too")
    func pages() async throws {
        try await withServer { server, cloud, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Long")
            let expected = (0..<250).map { "item \($0)" }
            for title in expected { _ = try await alice.addItem(title, to: list.id) }
            let first = try await alice.expect(200, "GET", "/v1/lists/me/\(list.id)/items")
            let cursor = try #require(first.json["cursor"].text)
            let second = try await alice.expect(200, "GET", "/v1/lists/me/\(list.id)/items?cursor=\(cursor)")
            #expect(second.json["cursor"] == .null)
            let titles = (first.json["items"].elements + second.json["items"].elements).compactMap { $0["title"].text }
            #expect(Set(titles) == Set(expected))
            #expect(titles.count == expected.count)
        }
    }

    @Test("a token of the feed gives what has changed since, deletions too, and nothing when nothing has")
    func changes() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let milk = try await alice.addItem("Milk", to: list.id)
            let all = try await alice.expect(200, "GET", "/v1/changes/me")
            #expect(Set(all.json["changed"].elements.compactMap { $0["id"].text }) == [list.id, milk.id])

            let token = try #require(all.json["token"].text)
            let tea = try await alice.addItem("Tea", to: list.id)
            try await alice.expect(204, "DELETE", "/v1/lists/me/\(list.id)/items/\(milk.id)")
            let since = try await alice.expect(200, "GET", "/v1/changes/me?since=\(token)")
            #expect(since.json["changed"].elements.map { $0["id"].text } == [tea.id])
            #expect(since.json["deleted"].elements.map { $0["id"].text } == [milk.id])
            let last = try #require(since.json["token"].text)
            let nothing = try await alice.expect(200, "GET", "/v1/changes/me?since=\(last)")
            #expect(nothing.json["changed"].elements == [])
            #expect(nothing.json["more"] == .bool(false))
        }
    }
}
