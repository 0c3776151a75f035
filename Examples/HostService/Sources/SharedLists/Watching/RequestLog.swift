// One line and one measurement for each request. Neither says what only the people concerned may know: requests are named
// by their route, `/share/{secret}`, and not by their path, `/share/…`; headers and bodies are not looked at.

import HTTPTypes
import Hummingbird
import Logging
import Metrics

struct RequestLog: RouterMiddleware {
    /// Methods are what clients say they are: others than these would each make metrics of their own.
    private static let knownMethods: Set<HTTPRequest.Method> = [.get, .head, .post, .put, .patch, .delete, .options]

    let metrics: PrometheusMetrics

    func handle(
        _ request: Request, context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        let duration = ContinuousClock.now - start
        let method = Self.knownMethods.contains(request.method) ? request.method.rawValue : "other"
        let route = context.endpointPath ?? "none"
        Metrics.Timer(
            label: "http.server.request.duration",
            dimensions: [("method", method), ("route", route), ("status", "\(response.status.code)")], factory: metrics
        ).record(duration: duration)
        context.logger.info(
            "request",
            metadata: [
                "method": "\(method)", "route": "\(route)", "status": "\(response.status.code)",
                "milliseconds": "\(duration / .milliseconds(1))",
            ])
        return response
    }
}
