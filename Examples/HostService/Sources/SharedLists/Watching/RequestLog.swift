// One line and one measurement for each request. Neither contains private data: requests are named by their route,
// `/share/{secret}`, and not by their path, `/share/…`; headers and bodies are not read.

import HTTPTypes
import Hummingbird
import Logging
import Metrics

struct RequestLog: RouterMiddleware {
    /// Clients can send any method: each unknown one would create its own metrics.
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
