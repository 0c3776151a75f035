// Sharing lists over HTTP.
//
// A link is a secret. It is part of a request's path, so nothing logs paths: see RequestLog.

import Foundation
import HTTPTypes
import Hummingbird
import StratusKit

struct SharingRoutes: Sendable {
    let cloud: Stratus
    let shareURLBase: String

    func add(to router: some RouterMethods<ServiceContext>) {
        router.get("lists/:owner/:list/participants") { _, context in
            ParticipantsBody(
                try await lists(context).participants(of: context.listAddress()), seenBy: context.person)
        }
        router.post("lists/:owner/:list/participants") { request, context in
            let body = try await request.decode(as: InvitationRequest.self, context: context)
            return ParticipantsBody(
                try await lists(context).invite(
                    body.email, to: context.listAddress(),
                    permission: body.permission == .readWrite ? .readWrite : .readOnly),
                seenBy: context.person)
        }
        router.delete("lists/:owner/:list/participants/:participant") { _, context in
            try await lists(context).remove(
                participant: context.parameters.require("participant"), from: context.listAddress())
            return Response(status: .noContent)
        }
        router.delete("lists/:owner/:list/share") { _, context in
            try await lists(context).deleteShare(of: context.listAddress())
            return Response(status: .noContent)
        }
    }

    /// Where links lead.
    func addLinks(to router: some RouterMethods<ServiceContext>) {
        router.post(":secret") { request, context in
            let secret = try context.parameters.require("secret")
            guard let link = URL(string: shareURLBase + secret) else { throw Problem.notFound }
            let list = try await lists(context).accept(link: link, as: context.signedIn().account)
            guard let body = RecordBody(list, seenBy: context.person) else { throw Problem.notFound }
            return body
        }
    }

    private func lists(_ context: ServiceContext) throws -> UserLists {
        UserLists(cloud: cloud, person: try context.signedIn())
    }
}
