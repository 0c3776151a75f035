// The lifetime of the service: opens the store, serves, and closes the store after the last request. So an answered
// request is in the store, and a running one is not cut off by the closing.

import Foundation
public import Logging
import Hummingbird
import HummingbirdCore
import NIOCore
import ServiceLifecycle
import StratusKit
import UnixSignals

/// A server with shared lists for many users.
public struct ListService: Sendable {
    /// The external identifier of the account that stores the service's codes and tokens.
    static let accountName = "service"

    private let configuration: ServiceConfiguration
    private let logger: Logger
    private let stopsOnSignals: Bool
    private let onListening: @Sendable (Int) async -> Void

    /// A service that is not running yet.
    /// - Parameters:
    ///   - configuration: Its settings.
    ///   - logger: The destination of its log.
    ///   - stopsOnSignals: Whether SIGTERM and SIGINT stop it. They are the process's, so that only one service may.
    ///   - onListening: Called with the port when requests are accepted.
    public init(
        configuration: ServiceConfiguration, logger: Logger, stopsOnSignals: Bool = true,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.stopsOnSignals = stopsOnSignals
        self.onListening = onListening
    }

    /// Serves until it is stopped by a signal, or its task is cancelled.
    ///
    /// - Throws: ``StratusError`` if the store cannot be opened, and the system's error if the port is in use.
    public func run() async throws {
        let metrics = PrometheusMetrics()
        let (cloud, sessions) = try await open(metrics: metrics)
        let result: Result<Void, any Error>
        do {
            try await serve(cloud, sessions, metrics)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await cloud.close()
        logger.info("closed")
        try result.get()
    }

    private func open(metrics: PrometheusMetrics) async throws -> (Stratus, Sessions) {
        try FileManager.default.createDirectory(
            at: configuration.dataDirectory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let outbox = try Outbox(at: configuration.outboxFile)
        var options = Stratus.Options()
        options.schemaMode = .production
        options.quotaByteCount = configuration.quotaByteCount
        options.shareURLBase = configuration.shareURLBase
        options.logger = logger
        options.metricsFactory = metrics
        options.onInvitation = { invitation in
            do {
                if let mail = Mail(invitation) { try outbox.deliver(mail) }
            } catch {
                logger.error("an invitation was not sent", metadata: ["error": "\(error)"])
            }
        }
        let cloud = try await Stratus.open(at: configuration.storeAddress, options: options)
        try await cloud.importSchema(Schema.lists, intoContainer: UserLists.containerIdentifier)
        try await cloud.importSchema(Schema.sessions, intoContainer: Sessions.containerIdentifier)
        let account = try await cloud.account(
            externalID: Self.accountName,
            // Codes and tokens are no data of a person's: the quota of people is not theirs.
            createIfMissing: Stratus.NewAccount(isDiscoverable: false, quotaByteCount: .max))
        return (cloud, Sessions(cloud: cloud, account: account, outbox: outbox))
    }

    private func serve(
        _ cloud: Stratus, _ sessions: Sessions, _ metrics: PrometheusMetrics
    ) async throws {
        let server = Application(
            router: router(cloud, sessions, metrics),
            server: .http1(configuration: .init(idleTimeout: .seconds(60))),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port), serverName: "shared-lists",
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.connectionCount)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? configuration.port
                logger.info("listening", metadata: ["host": "\(configuration.host)", "port": "\(port)"])
                await onListening(port)
            },
            logger: logger)
        var group = ServiceGroupConfiguration(
            services: [server], gracefulShutdownSignals: stopsOnSignals ? [.sigterm, .sigint] : [], logger: logger)
        group.maximumGracefulShutdownDuration = .seconds(configuration.shutdownSeconds)
        try await ServiceGroup(configuration: group).run()
    }

    private func router(
        _ cloud: Stratus, _ sessions: Sessions, _ metrics: PrometheusMetrics
    ) -> Router<ServiceContext> {
        let router = Router(context: ServiceContext.self, options: .autoGenerateHeadEndpoints)
        router.add(middleware: RequestLog(metrics: metrics))
        router.add(middleware: ProblemMiddleware())
        HealthRoutes(cloud: cloud, metrics: metrics).add(to: router)

        let accounts = AccountRoutes(sessions: sessions)
        accounts.addOpen(to: router.group("v1"))
        let authentication = Authentication(sessions: sessions)
        let signedIn = router.group("v1").add(middleware: authentication)
        accounts.addSignedIn(to: signedIn)
        ListRoutes(cloud: cloud).add(to: signedIn)
        EventRoutes(cloud: cloud).add(to: signedIn)
        let sharing = SharingRoutes(cloud: cloud, shareURLBase: configuration.shareURLBase)
        sharing.add(to: signedIn)
        sharing.addLinks(to: router.group("share").add(middleware: authentication))
        return router
    }
}
