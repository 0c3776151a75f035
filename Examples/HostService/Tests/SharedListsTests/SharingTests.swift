// Two people with one list, and a third without access.

import Foundation
import StratusKit
import Testing

@Suite struct SharingTests {
    @Test("two people: invited by mail, accepted by link, worked on together, removed")
    func story() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            let owner = try await alice.user()
            let list = try await alice.makeList("Groceries")
            let milk = try await alice.addItem("Milk", to: list.id)
            try await bob.expect(404, "GET", "/v1/lists/\(owner)/\(list.id)")

            let link = try await alice.invite("bob@example.com", to: list.id, permission: "readWrite")
            try await bob.expect(404, "GET", "/v1/lists/\(owner)/\(list.id)")
            let accepted = try await bob.expect(200, "POST", link)
            #expect(accepted.json["owner"].text == owner)
            #expect(accepted.json["title"].text == "Groceries")
            let shared = try await bob.expect(200, "GET", "/v1/shared").json["lists"].elements
            #expect(shared.map { $0["id"].text } == [list.id])
            #expect(try await bob.expect(200, "GET", "/v1/lists").json["lists"].elements == [])

            let path = "/v1/lists/\(owner)/\(list.id)"
            let done = try await bob.expect(
                200, "PATCH", "\(path)/items/\(milk.id)", #"{"done":true}"#, ifMatch: milk.etag)
            #expect(done.json["modifiedBy"].text == "me")
            _ = try await bob.addItem("Tea", to: list.id, of: owner)
            #expect(try await alice.titles(of: list.id) == ["Milk", "Tea"])
            let late = try await alice.expect(
                412, "PATCH", "/v1/lists/me/\(list.id)/items/\(milk.id)", #"{"title":"Oat milk"}"#, ifMatch: milk.etag)
            #expect(late.json["current"]["modifiedBy"].text == (try await bob.user()))

            let people = try await alice.expect(200, "GET", "/v1/lists/me/\(list.id)/participants")
            let invited = try #require(
                people.json["participants"].elements.first { $0["email"].text == "bob@example.com" })
            #expect(invited["accepted"].isTrue)
            #expect(invited["permission"].text == "readWrite")
            let id = try #require(invited["id"].text)
            try await alice.expect(204, "DELETE", "/v1/lists/me/\(list.id)/participants/\(id)")
            try await bob.expect(404, "GET", path)
            try await bob.expect(404, "POST", "\(path)/items", #"{"title":"Wine"}"#)
            #expect(try await bob.expect(200, "GET", "/v1/shared").json["lists"].elements == [])
        }
    }

    @Test("who may only read sees everything and changes nothing")
    func readOnly() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let item = try await alice.addItem("Milk", to: list.id)
            try await alice.share(list.id, with: bob, "bob@example.com", permission: "readOnly")
            let path = "/v1/lists/\(try await alice.user())/\(list.id)"
            #expect(try await bob.titles(of: list.id, owner: alice.user()) == ["Milk"])
            let refusals = [
                try await bob.expect(403, "PATCH", path, #"{"title":"Mine"}"#, ifMatch: "*"),
                try await bob.expect(403, "POST", "\(path)/items", #"{"title":"Tea"}"#),
                try await bob.expect(403, "PATCH", "\(path)/items/\(item.id)", #"{"done":true}"#, ifMatch: "*"),
                try await bob.expect(403, "DELETE", "\(path)/items/\(item.id)"),
                try await bob.expect(403, "DELETE", path),
            ]
            #expect(refusals.allSatisfy { $0.code == "readOnly" })
            #expect(try await alice.titles(of: list.id) == ["Milk"])
        }
    }

    @Test("a person who is not invited gets the same answer for an existing list as for a missing one")
    func strangers() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let mallory = try await Client.signedIn("mallory@example.com", at: server)
            let owner = try await alice.user()
            let list = try await alice.makeList("Groceries")
            let item = try await alice.addItem("Milk", to: list.id)
            let own = try await mallory.makeList("Mine")
            let ownItem = try await mallory.addItem("Bait", to: own.id)
            let link = try await alice.invite("bob@example.com", to: list.id, permission: "readWrite")

            func compare(_ method: String, _ path: String, _ body: String? = nil, ifMatch: String? = nil) async throws {
                let real = try await mallory.expect(404, method, path, body, ifMatch: ifMatch)
                let invented = path.replacingOccurrences(of: list.id, with: "list")
                    .replacingOccurrences(of: item.id, with: "item").replacingOccurrences(of: owner, with: "_nobody")
                let other = try await mallory.expect(404, method, invented, body, ifMatch: ifMatch)
                #expect(real.text == other.text, "\(method) \(path)")
            }
            let path = "/v1/lists/\(owner)/\(list.id)"
            try await compare("GET", path)
            try await compare("GET", "\(path)/items")
            try await compare("GET", "\(path)/items/\(item.id)")
            try await compare("GET", "\(path)/participants")
            try await compare("PATCH", path, #"{"title":"Mine"}"#, ifMatch: "*")
            try await compare("POST", "\(path)/items", #"{"title":"Tea"}"#)
            try await compare("PATCH", "\(path)/items/\(item.id)", #"{"done":true}"#, ifMatch: list.etag)
            try await compare("DELETE", path)
            try await compare("DELETE", "\(path)/items/\(item.id)")
            try await compare("DELETE", "\(path)/share")
            try await compare(
                "POST", "\(path)/participants", #"{"email":"mallory@example.com","permission":"readWrite"}"#)
            try await compare("GET", "/v1/changes/\(owner)")
            try await mallory.expect(
                404, "PATCH", "/v1/lists/me/\(own.id)/items/\(ownItem.id)", #"{"list":"\#(list.id)"}"#, ifMatch: "*")
            let stolen = try await mallory.expect(404, "POST", link)
            #expect(stolen.text == (try await mallory.expect(404, "POST", "/share/nothing")).text)
            #expect(try await alice.titles(of: list.id) == ["Milk"])
        }
    }

    @Test("a record of another kind is not found, even by its name")
    func otherKinds() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let item = try await alice.addItem("Milk", to: list.id)
            try await alice.expect(404, "GET", "/v1/lists/me/\(item.id)")
            try await alice.expect(404, "GET", "/v1/lists/me/\(list.id)/items/\(list.id)")
            try await alice.expect(404, "GET", "/v1/lists/me/\(item.id)/items")
        }
    }

    @Test("a participant leaves, and an owner stops sharing")
    func ends() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            let owner = try await alice.user()
            let list = try await alice.makeList("Groceries")
            try await alice.share(list.id, with: bob, "bob@example.com", permission: "readWrite")
            try await bob.expect(204, "DELETE", "/v1/lists/\(owner)/\(list.id)/share")
            try await bob.expect(404, "GET", "/v1/lists/\(owner)/\(list.id)")
            try await alice.expect(200, "GET", "/v1/lists/me/\(list.id)")

            try await alice.share(list.id, with: bob, "bob@example.com", permission: "readWrite")
            try await bob.expect(200, "GET", "/v1/lists/\(owner)/\(list.id)")
            try await alice.expect(204, "DELETE", "/v1/lists/me/\(list.id)/share")
            try await bob.expect(404, "GET", "/v1/lists/\(owner)/\(list.id)")
            #expect(try await alice.expect(200, "GET", "/v1/lists/me/\(list.id)").json["shared"] == .bool(false))
        }
    }

    @Test("the feed of shared lists names owners who have changed something or no longer share anything")
    func sharedFeed() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let bob = try await Client.signedIn("bob@example.com", at: server)
            let owner = try await alice.user()
            let list = try await alice.makeList("Groceries")
            _ = try await alice.makeList("Private")
            try await alice.share(list.id, with: bob, "bob@example.com", permission: "readOnly")
            let first = try await bob.expect(200, "GET", "/v1/changes")
            #expect(first.json["changedOwners"].elements == [.string(owner)])
            let lists = try await bob.expect(200, "GET", "/v1/changes/\(owner)").json["changed"].elements
            #expect(lists.map { $0["title"].text } == ["Groceries"])

            let token = try #require(first.json["token"].text)
            #expect(try await bob.expect(200, "GET", "/v1/changes?since=\(token)").json["changedOwners"].elements == [])
            try await alice.expect(204, "DELETE", "/v1/lists/me/\(list.id)/share")
            let last = try await bob.expect(200, "GET", "/v1/changes?since=\(token)")
            #expect(last.json["goneOwners"].elements == [.string(owner)])
        }
    }

    @Test("an address without an account can be invited, and the person who signs in with it accepts")
    func laterAccounts() async throws {
        try await withServer { server, _, _ in
            let alice = try await Client.signedIn("alice@example.com", at: server)
            let list = try await alice.makeList("Groceries")
            let link = try await alice.invite("carol@example.com", to: list.id, permission: "readOnly")
            let carol = try await Client.signedIn("carol@example.com", at: server)
            try await carol.expect(200, "POST", link)
            #expect(try await carol.titles(of: list.id, owner: alice.user()) == [])
        }
    }
}
