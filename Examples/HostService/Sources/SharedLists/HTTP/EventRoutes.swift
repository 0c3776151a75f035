// Server-sent events: notify a person's device at once that something has changed, so that it fetches the changes.
//
// Events are hints, like notifications. If a connection loses one, the first event of the next connection compensates:
// it says that anything may have changed.

import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import StratusKit

struct EventRoutes: Sendable {
    /// Intermediaries close idle connections, and without writing to it the service does not notice that a client is
    /// gone.
    private static let heartbeat = Duration.seconds(15)
    /// Events that wait for a slow client. Beyond it the oldest are dropped: all say the same.
    private static let waitingEventCount = 16

    private enum Event {
        case anything
        case changed(database: String)
        case heartbeat

        var text: String {
            switch self {
            case .anything: "event: changed\ndata: {}\n\n"
            case .changed(let database): "event: changed\ndata: {\"database\":\"\(database)\"}\n\n"
            case .heartbeat: ": still here\n\n"
            }
        }
    }

    let cloud: Stratus

    func add(to router: some RouterMethods<ServiceContext>) {
        router.get("events") { request, context in
            let person = try context.signedIn()
            try await UserLists(cloud: cloud, person: person).subscribe()
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: ResponseBody { writer in
                    try await Self.send(to: &writer, about: person.device, until: request)
                    try await writer.finish(nil)
                })
        }
    }

    /// Writes events until the client disconnects, the device or its account is deleted, or the service stops.
    private static func send(
        to writer: inout any ResponseBodyWriter, about device: Stratus.Device, until request: Request
    ) async throws {
        let (events, feed) = AsyncStream.makeStream(
            of: Event.self, bufferingPolicy: .bufferingNewest(waitingEventCount))
        feed.yield(.anything)
        let notifications = Task {
            for await received in device.notifications {
                let told = received.notification as? CKDatabaseNotification
                feed.yield(.changed(database: told?.databaseScope == .shared ? "shared" : "own"))
            }
            feed.finish()
        }
        let heartbeats = Task {
            while true {
                try await Task.sleep(for: heartbeat)
                feed.yield(.heartbeat)
            }
        }
        defer {
            notifications.cancel()
            heartbeats.cancel()
        }
        try await withGracefulShutdownHandler {
            try await request.body.consumeWithInboundCloseHandler { _ in
                for await event in events { try await writer.write(ByteBuffer(string: event.text)) }
            } onInboundClosed: {
                feed.finish()
            }
        } onGracefulShutdown: {
            feed.finish()
        }
    }
}
