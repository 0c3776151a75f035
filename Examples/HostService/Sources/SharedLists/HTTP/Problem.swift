// The response to a failed request: a status, a code to compare, and a sentence for people.

import Foundation
import HTTPTypes
import Hummingbird
import Logging
import StratusKit

/// The failure of a request, as the client sees it.
struct Problem: Error, Sendable {
    var status: HTTPResponse.Status
    var code: String
    var message: String
    /// The number of seconds before the next attempt.
    var retryAfterSeconds: Double?
    /// The current record, if a change came too late.
    var current: CKRecord?

    init(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, retryAfterSeconds: Double? = nil,
        current: CKRecord? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfterSeconds = retryAfterSeconds
        self.current = current
    }

    static func invalid(_ code: String, _ message: String) -> Problem { Problem(.badRequest, code, message) }

    static let notFound = Problem(.notFound, "notFound", "There is nothing here, or nothing that you may see.")
    static let notSignedIn = Problem(.unauthorized, "notSignedIn", "Sign in, and send the token that you get.")
}

extension Problem {
    private struct Body: Encodable {
        var status: Int
        var code: String
        var message: String
        var current: RecordBody?
    }

    func response(to request: Request, in context: ServiceContext) throws -> Response {
        let body = Body(
            status: status.code, code: code, message: message,
            current: current.flatMap { RecordBody($0, seenBy: context.person) })
        var response = try context.responseEncoder.encode(body, from: request, context: context)
        response.status = status
        response.headers[.contentType] = "application/problem+json"
        if status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        if let retryAfterSeconds { response.headers[.retryAfter] = "\(max(1, Int(retryAfterSeconds.rounded(.up))))" }
        if let current = body.current { response.headers[.eTag] = current.etag }
        return response
    }
}

/// Answers failures, and logs those that only the operator of the service can fix.
struct ProblemMiddleware: RouterMiddleware {
    func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch {
            let problem = Problem(error, isConditional: request.headers[.ifMatch] != nil)
            if problem.status.kind == .serverError {
                context.logger.error("request failed", metadata: ["code": "\(problem.code)", "error": "\(error)"])
            } else {
                context.logger.debug("request refused", metadata: ["code": "\(problem.code)", "error": "\(error)"])
            }
            return try problem.response(to: request, in: context)
        }
    }
}
