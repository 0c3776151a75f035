// Identifies the sender of a request before it is handled.

import HTTPTypes
import Hummingbird

/// Admits requests with a token.
struct Authentication: RouterMiddleware {
    private static let scheme = "bearer "
    private static let tokenByteCountLimit = 256

    let sessions: Sessions

    func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        guard let header = request.headers[.authorization], header.lowercased().hasPrefix(Self.scheme),
            header.utf8.count <= Self.tokenByteCountLimit
        else { throw Sessions.Refusal.unknownToken }
        var context = context
        context.person = try await sessions.person(withToken: String(header.dropFirst(Self.scheme.count)))
        return try await next(request, context)
    }
}
