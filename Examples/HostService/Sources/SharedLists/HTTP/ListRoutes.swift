// Lists and their items over HTTP. Each request acts as its sender.

import Foundation
import HTTPTypes
import Hummingbird
import StratusKit

struct ListRoutes: Sendable {
    let cloud: Stratus

    func add(to router: some RouterMethods<ServiceContext>) {
        addLists(to: router)
        addItems(to: router)
        addChanges(to: router)
    }

    private func lists(_ context: ServiceContext) throws -> UserLists {
        UserLists(cloud: cloud, person: try context.signedIn())
    }

    // MARK: Lists

    private func addLists(to router: some RouterMethods<ServiceContext>) {
        router.get("lists") { _, context in
            let found = try await lists(context).ownLists()
            return ListsBody(lists: found.compactMap { RecordBody($0, seenBy: context.person) })
        }
        router.get("shared") { _, context in
            let found = try await lists(context).sharedLists()
            return ListsBody(lists: found.compactMap { RecordBody($0, seenBy: context.person) })
        }
        router.post("lists") { request, context in
            let body = try await request.decode(as: NewListRequest.self, context: context)
            let list = try await lists(context).makeList(
                named: body.id.map(Self.checked(id:)), title: Self.checked(title: body.title))
            return try Self.answer(.created, list, to: request, context)
        }
        router.get("lists/:owner/:list") { request, context in
            let list = try await lists(context).list(context.listAddress())
            return try Self.answer(.ok, list, to: request, context)
        }
        router.patch("lists/:owner/:list") { request, context in
            let condition = try request.ifMatch()
            let body = try await request.decode(as: ListChangeRequest.self, context: context)
            let list = try await lists(context).renameList(
                context.listAddress(), to: Self.checked(title: body.title), if: condition)
            return try Self.answer(.ok, list, to: request, context)
        }
        router.delete("lists/:owner/:list") { request, context in
            try request.refuseIfMatch()
            try await lists(context).deleteList(context.listAddress())
            return Response(status: .noContent)
        }
    }

    // MARK: Items

    private func addItems(to router: some RouterMethods<ServiceContext>) {
        router.get("lists/:owner/:list/items") { request, context in
            let cursor = try request.uri.queryParameters.get("cursor").map {
                try OpaqueText.decode(CKQueryOperation.Cursor.self, from: $0)
            }
            let page = try await lists(context).items(of: context.listAddress(), from: cursor)
            return ItemsBody(
                items: page.items.compactMap { RecordBody($0, seenBy: context.person) },
                cursor: try page.next.map { try OpaqueText.encode($0) })
        }
        router.post("lists/:owner/:list/items") { request, context in
            let body = try await request.decode(as: NewItemRequest.self, context: context)
            let item = try await lists(context).makeItem(
                named: body.id.map(Self.checked(id:)), title: Self.checked(title: body.title), in: context.listAddress()
            )
            return try Self.answer(.created, item, to: request, context)
        }
        router.get("lists/:owner/:list/items/:item") { request, context in
            let item = try await lists(context).item(
                context.parameters.require("item"), in: context.listAddress())
            return try Self.answer(.ok, item, to: request, context)
        }
        router.patch("lists/:owner/:list/items/:item") { request, context in
            let condition = try request.ifMatch()
            let body = try await request.decode(as: ItemChangeRequest.self, context: context)
            let change = ItemChange(
                title: try body.title.map(Self.checked(title:)), isDone: body.done, list: body.list)
            let item = try await lists(context).changeItem(
                context.parameters.require("item"), in: context.listAddress(), if: condition, change)
            return try Self.answer(.ok, item, to: request, context)
        }
        router.delete("lists/:owner/:list/items/:item") { request, context in
            try request.refuseIfMatch()
            try await lists(context).deleteItem(context.parameters.require("item"), in: context.listAddress())
            return Response(status: .noContent)
        }
    }

    // MARK: Changes

    private func addChanges(to router: some RouterMethods<ServiceContext>) {
        router.get("changes") { request, context in
            try SharedChangesBody(await lists(context).sharedChanges(since: request.changeToken()))
        }
        router.get("changes/:owner") { request, context in
            let changes = try await lists(context).changes(
                of: context.parameters.require("owner"), since: request.changeToken())
            return try ChangesBody(changes, seenBy: context.signedIn())
        }
    }

    // MARK: Words

    private static func checked(title: String) throws -> String {
        guard !title.isEmpty, title.utf8.count <= Limits.titleByteCount else {
            throw Problem.invalid("invalidTitle", "A title has 1 to \(Limits.titleByteCount) bytes.")
        }
        return title
    }

    /// Names are part of paths, where other characters would need escaping.
    private static func checked(id: String) throws -> String {
        let isPlain = id.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        guard isPlain, 1...Limits.idByteCount ~= id.utf8.count else {
            throw Problem.invalid("invalidID", "A name has 1 to \(Limits.idByteCount) letters, digits and hyphens.")
        }
        return id
    }

    private static func answer(
        _ status: HTTPResponse.Status, _ record: CKRecord, to request: Request, _ context: ServiceContext
    ) throws -> Response {
        guard let body = RecordBody(record, seenBy: context.person) else { throw Problem.notFound }
        var response = try context.responseEncoder.encode(body, from: request, context: context)
        response.status = status
        response.headers[.eTag] = body.etag
        return response
    }
}

extension Request {
    fileprivate func changeToken() throws -> CKServerChangeToken? {
        try uri.queryParameters.get("since").map { try OpaqueText.decode(CKServerChangeToken.self, from: $0) }
    }

    /// The version that the client has seen: a client can change only what it has seen.
    fileprivate func ifMatch() throws -> IfMatch {
        guard let header = headers[.ifMatch] else {
            throw Problem(
                .preconditionRequired, "ifMatchMissing", "Send If-Match with the ETag of what you have seen.")
        }
        return IfMatch(header: header)
    }

    /// CloudKit deletes a record in any state: a condition could not be enforced, so it is not accepted.
    fileprivate func refuseIfMatch() throws {
        guard headers[.ifMatch] == nil else {
            throw Problem.invalid("ifMatchUnsupported", "A deletion takes no If-Match.")
        }
    }
}

extension ServiceContext {
    func listAddress() throws -> ListAddress {
        ListAddress(owner: try parameters.require("owner"), list: try parameters.require("list"))
    }
}
