// Signing in and out.

import Foundation
import HTTPTypes
import Hummingbird
import StratusKit

struct AccountRoutes: Sendable {
    private static let emailByteCount = 254

    let sessions: Sessions

    func addOpen(to router: some RouterMethods<ServiceContext>) {
        router.post("codes") { request, context in
            let body = try await request.decode(as: CodeRequest.self, context: context)
            try await sessions.sendCode(to: Self.checked(email: body.email))
            return Response(status: .accepted)
        }
        router.post("sessions") { request, context in
            let body = try await request.decode(as: SignInRequest.self, context: context)
            let token = try await sessions.signIn(
                email: Self.checked(email: body.email), code: body.code, device: body.device ?? "default")
            return EditedResponse(status: .created, response: TokenBody(token: token))
        }
    }

    func addSignedIn(to router: some RouterMethods<ServiceContext>) {
        router.get("me") { _, context in
            let person = try context.signedIn()
            return PersonBody(
                user: person.account.userRecordName, emails: person.account.emails.sorted(), device: person.device.name)
        }
        router.delete("sessions/current") { _, context in
            try await sessions.signOut(context.signedIn())
            return Response(status: .noContent)
        }
    }

    /// Whether a text looks like an address. The code proves that it is the person's own.
    private static func checked(email: String) throws -> String {
        let parts = email.split(separator: "@", omittingEmptySubsequences: false)
        guard email.utf8.count <= emailByteCount, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            email.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw Problem.invalid("invalidEmail", "This is no e-mail address.") }
        return email
    }
}
