// For operators of the service: whether the process lives, whether it can serve, and its metrics.

import HTTPTypes
import Hummingbird
import NIOCore
import StratusKit

struct HealthRoutes: Sendable {
    let cloud: Stratus
    let metrics: PrometheusMetrics

    func add(to router: some RouterMethods<ServiceContext>) {
        // Whether the process answers at all; one that does not is restarted.
        router.get("health/live") { _, _ in HealthBody(status: "live") }
        // Whether the store can be read: while it cannot, requests go elsewhere, or wait.
        router.get("health/ready") { _, _ in
            _ = try await cloud.account(externalID: ListService.accountName)
            return HealthBody(status: "ready")
        }
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
        }
    }
}
