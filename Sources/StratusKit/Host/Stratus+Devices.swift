// The devices of people: what notifications are for.
//
// A device is a name in an account. The store knows it for good, and keeps what it is told until somebody takes it; who
// listens for it is known to the session alone.

import StratusCloud
import StratusModel
import StratusStore

extension Stratus {
    /// A device of a person: it is told of what the person's other devices, and other people, do to what the person has
    /// subscribed to, and not of what it does itself (N-05).
    ///
    /// ```swift
    /// let phone = try cloud.device("phone", signedInAs: alice)
    /// let database = phone.container("iCloud.com.example.app").privateCloudDatabase
    /// try await database.save(CKDatabaseSubscription(subscriptionID: "changes"))
    /// phone.onNotification = { received in send(received.userInfo) }
    /// ```
    ///
    /// What nobody listens for waits in the store, as long as there is room; it is there when the store is opened
    /// again. Each notification goes to one listener: one handler, or one task in ``notifications``, at a time.
    public struct Device: Hashable, Sendable, CustomStringConvertible {
        /// Its name, unique among the person's.
        public let name: String
        /// ``Account/id`` of the person.
        public let accountID: String
        private let session: CloudSession
        private let server: HostedServer

        init(_ address: DeviceAddress, in store: Stratus) {
            name = address.name
            accountID = address.account.text
            session = store.session
            server = store.server
        }

        private var address: DeviceAddress { DeviceAddress(account: AccountID(accountID), name: name) }

        /// Whether it is the same device of the same store.
        public static func == (left: Device, right: Device) -> Bool {
            left.address == right.address && left.session === right.session
        }

        /// Hashes what devices are compared by.
        public func hash(into hasher: inout Hasher) { hasher.combine(address) }

        /// The name.
        public var description: String { "device \(name)" }

        /// A container in which the person acts on this device: its requests never notify the device itself.
        ///
        /// - Parameter identifier: The container's name, such as `iCloud.com.example.app`.
        /// - Returns: The container, made anew.
        public func container(_ identifier: String) -> CKContainer {
            CKContainer(session: session, identifier: identifier, account: AccountID(accountID), device: name)
        }

        /// Forgets the device with all that waits for it. Whoever listens is let go: sequences end. Removing it again
        /// does nothing. Subscriptions are the person's, and stay.
        ///
        /// - Throws: ``StratusError`` where the store fails or was closed.
        public func remove() throws {
            let address = address
            try StratusError.wrapping { try server.withService { try $0.removeDevice(address) } }
            session.hub.forget { $0 == address }
        }

        /// Sets the number on the app's icon, from which notifications count on. It is 0 at first.
        ///
        /// - Throws: ``StratusError`` where the device was removed, and where the store fails or was closed.
        public func setBadge(_ badge: Int) throws {
            let address = address
            try StratusError.wrapping { try server.withService { try $0.setBadge(badge, of: address) } }
        }

        /// Forgets the device with all that waits for it, for asynchronous code. Removing it again does nothing.
        ///
        /// - Throws: ``StratusError`` where the store fails or was closed; `CancellationError`.
        public func remove() async throws {
            try await Stratus.suspending(on: session.pool) { try self.remove() }
        }

        /// Sets the number on the app's icon, for asynchronous code.
        ///
        /// - Throws: ``StratusError`` where the device was removed, and where the store fails or was closed;
        ///   `CancellationError`.
        public func setBadge(_ badge: Int) async throws {
            try await Stratus.suspending(on: session.pool) { try self.setBadge(badge) }
        }

        /// What hears of the device's notifications: those that wait, the oldest first, and then each as it comes.
        /// Called on threads of the store's own, one after another, and while it runs `settle()` and
        /// `Stratus.close()` wait: it must call neither.
        ///
        /// There is one for a device, whichever `Device` it was set on; setting another one replaces it, nil takes it
        /// away. It is kept until then, or until the store is closed.
        public var onNotification: (@Sendable (RemoteNotification) -> Void)? {
            get {
                guard let handler = session.hub.handler(of: address) else { return nil }
                return { handler($0.told) }
            }
            nonmutating set {
                var handler: NotificationHub.Handler?
                if let newValue { handler = { newValue(RemoteNotification(told: $0)) } }
                session.hub.setHandler(handler, of: address)
            }
        }

        /// The device's notifications: those that wait, the oldest first, and then each as it comes. One is taken from
        /// the store when it is asked for, and not before.
        ///
        /// It ends when the task is cancelled, the device is removed, or the store is closed. Where several tasks go
        /// through it, each notification goes to one of them; where there is a handler, to the handler.
        public var notifications: Notifications { Notifications(hub: session.hub, device: address) }

        /// The notifications of a device, one taken at a time.
        public struct Notifications: AsyncSequence, Sendable {
            /// What it is a sequence of.
            public typealias Element = RemoteNotification
            /// It does not fail.
            public typealias Failure = Never

            let hub: NotificationHub
            let device: DeviceAddress

            /// Takes notifications.
            public struct AsyncIterator: AsyncIteratorProtocol {
                let hub: NotificationHub
                let device: DeviceAddress

                /// Takes the oldest notification, or waits for one; nil at the end.
                public mutating func next() async -> RemoteNotification? {
                    await hub.next(for: device).map { RemoteNotification(told: $0) }
                }

                /// Takes the oldest notification, or waits for one; nil at the end.
                public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteNotification? {
                    await hub.next(for: device).map { RemoteNotification(told: $0) }
                }
            }

            /// Begins to take notifications.
            public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(hub: hub, device: device) }
        }
    }
}

// MARK: Registering

extension Stratus {
    /// A device of a person. It is made where the person has none of that name, and from then on the store keeps what
    /// it is told, until it is removed.
    ///
    /// - Parameters:
    ///   - name: Its name, unique among the person's.
    ///   - account: Whose device it is.
    /// - Returns: The device.
    /// - Throws: ``StratusError`` with `unknownAccount`, and with `invalidArgument` for a name that is none or too
    /// long, and
    ///   where the person has as many devices as there may be (``Options/deviceCount``).
    public func device(_ name: String, signedInAs account: Account) throws -> Device {
        try device(DeviceAddress(account: account.accountID, name: name))
    }

    /// The device on which containers act that act for whoever is signed in: those of `CKContainer.default()`,
    /// `CKContainer(identifier:)` and ``container(_:)``. Nil when nobody is signed in.
    ///
    /// It is named `local`. A person has it from when it is first asked for: from then on it is told of what the
    /// person's other devices do.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public var localDevice: Device? {
        get throws {
            guard let account = session.account else { return nil }
            return try device(DeviceAddress(account: account, name: CloudSession.localDeviceName))
        }
    }

    /// The devices of a person, by name; none of a person who is gone.
    ///
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func devices(of account: Account) throws -> [Device] {
        let id = account.accountID
        return try asking { try $0.devices(of: id) }.sorted { $0.name < $1.name }.map { Device($0, in: self) }
    }

    private func device(_ address: DeviceAddress) throws -> Device {
        try asking { try $0.registerDevice(address) }
        return Device(address, in: self)
    }
}

// MARK: Delivering

extension HostedServer: NotificationSource {
    func deliverNotifications() throws -> Set<DeviceAddress> { try withService { try $0.deliverNotifications() } }

    func takeNotifications(for device: DeviceAddress, limit: Int) throws -> [ClientNotification] {
        try withService { try $0.takeNotifications(for: device, limit: limit) }
    }

    func registerDevice(_ device: DeviceAddress) throws { try withService { try $0.registerDevice(device) } }
}

// What a host gets for a person's device, to hand to the app there.

extension Stratus {
    /// What a device of a person is told: as an object of CloudKit's, and as the dictionary that an app gets of the
    /// system.
    ///
    /// A host that reaches its devices over a wire sends `userInfo`, as JSON or as a property list, and the app there
    /// makes the notification of it: `CKNotification(fromRemoteNotificationDictionary:)`.
    public struct RemoteNotification: Hashable, Sendable, CustomStringConvertible {
        let told: ClientNotification

        init(told: ClientNotification) { self.told = told }

        /// The notification, of the class of its kind. Each time an object of its own.
        public var notification: CKNotification { CKNotification.make(NotificationContent(told)) }

        /// The payload: `aps`, in the words of Apple's push service, and `ck`. Dictionaries, lists, texts and numbers
        /// of Foundation's, and nothing else, so that JSON and property lists can be made of it.
        public var userInfo: [AnyHashable: Any] { NotificationPayload.dictionary(of: told) }

        /// The notification's description.
        public var description: String { notification.description }
    }
}

// Whose a web token is: for hosts with a web service beside their store.

extension Stratus {
    /// The account of which a client has got this token with a `CKFetchWebAuthTokenOperation`, so that a web service of the
    /// host knows whose requests it gets.
    ///
    /// ```swift
    /// guard let account = try cloud.account(
    ///     webAuthToken: request.token, apiToken: "my-web-app", container: "iCloud.com.example.app")
    /// else { return .unauthorized }
    /// ```
    ///
    /// - Parameters:
    ///   - token: What the service was shown.
    ///   - apiToken: What the service is known by: the same text as the client said.
    ///   - container: The container in which the client acts.
    ///   - age: How old the token may be, in seconds; two weeks by default.
    /// - Returns: The account; nil for a token that was not made by this store for just this container and service, or is
    ///   too old, and where the account is gone, closed or restricted.
    /// - Throws: ``StratusError`` where the store fails or was closed.
    public func account(
        webAuthToken token: String, apiToken: String, container: String, notOlderThan age: Double = 14 * 24 * 3600
    ) throws -> Account? {
        try asking { service in
            try service.account(
                ofWebAuthToken: token, apiToken: apiToken, container: ContainerName(container), maximumAgeSeconds: age
            ).map(Account.init)
        }
    }
}
