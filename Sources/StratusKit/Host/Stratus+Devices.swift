// Devices of people, their notifications, and web tokens.
//
// A device is a name in an account. The store keeps the device, and its notifications until they are taken. Only the
// session knows the listeners.

import StratusCloud
import StratusModel

extension Stratus {
    /// A device of a person. It gets notifications when the person's other devices, or other people, change data that
    /// the person has subscribed to, but not for its own changes (N-05).
    ///
    /// ```swift
    /// let phone = try cloud.device("phone", signedInAs: alice)
    /// let database = phone.container("iCloud.com.example.app").privateCloudDatabase
    /// try await database.save(CKDatabaseSubscription(subscriptionID: "changes"))
    /// phone.onNotification = { received in send(received.userInfo) }
    /// ```
    ///
    /// Without a listener, notifications wait in the store up to a limit, also while the store is closed. Each
    /// notification goes to one listener: one handler, or one task in ``notifications``.
    public struct Device: Hashable, Sendable, CustomStringConvertible {
        /// The name, unique among the person's devices.
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

        /// Hashes the device's account and name.
        public func hash(into hasher: inout Hasher) { hasher.combine(address) }

        /// The name.
        public var description: String { "device \(name)" }

        /// A container in which the person acts on this device. Its requests never notify the device itself.
        ///
        /// - Parameter identifier: The container's name, such as `iCloud.com.example.app`.
        /// - Returns: A new container object.
        public func container(_ identifier: String) -> CKContainer {
            CKContainer(session: session, identifier: identifier, account: AccountID(accountID), device: name)
        }

        /// Removes the device and its waiting notifications. Sequences of its notifications end. Removing it again does
        /// nothing. Subscriptions belong to the person and stay.
        ///
        /// - Throws: ``StratusError`` if the store fails or was closed.
        public func remove() throws {
            let address = address
            try StratusError.wrapping { try server.withService { try $0.removeDevice(address) } }
            session.hub.forget { $0 == address }
        }

        /// Sets the number on the app's icon, from which notifications count. Initially 0.
        ///
        /// - Throws: ``StratusError`` if the device was removed, and if the store fails or was closed.
        public func setBadge(_ badge: Int) throws {
            let address = address
            try StratusError.wrapping { try server.withService { try $0.setBadge(badge, of: address) } }
        }

        /// Removes the device and its waiting notifications, for asynchronous code. Removing it again does nothing.
        ///
        /// - Throws: ``StratusError`` if the store fails or was closed; `CancellationError`.
        public func remove() async throws {
            try await Stratus.suspending(on: session.pool) { try self.remove() }
        }

        /// Sets the number on the app's icon, for asynchronous code.
        ///
        /// - Throws: ``StratusError`` if the device was removed, and if the store fails or was closed;
        ///   `CancellationError`.
        public func setBadge(_ badge: Int) async throws {
            try await Stratus.suspending(on: session.pool) { try self.setBadge(badge) }
        }

        /// The handler of the device's notifications. It gets the waiting ones, oldest first, and then each new one.
        /// The store's threads call it, one call at a time. `settle()` and `Stratus.close()` wait while it runs, so it
        /// must not call them.
        ///
        /// A device has one handler, which all its `Device` values share. Setting another one replaces it; nil
        /// removes it. It is kept until then, or until the store is closed.
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

        /// The device's notifications: the waiting ones, oldest first, and then each new one. A notification is taken
        /// from the store only when it is requested.
        ///
        /// The sequence ends when the task is cancelled, the device is removed, or the store is closed. If several
        /// tasks iterate, each notification goes to one of them; if there is a handler, it goes to the handler.
        public var notifications: Notifications { Notifications(hub: session.hub, device: address) }

        /// The notifications of a device.
        public struct Notifications: AsyncSequence, Sendable {
            /// The type of the elements.
            public typealias Element = RemoteNotification
            /// The sequence never fails.
            public typealias Failure = Never

            let hub: NotificationHub
            let device: DeviceAddress

            /// Iterates over notifications.
            public struct AsyncIterator: AsyncIteratorProtocol {
                let hub: NotificationHub
                let device: DeviceAddress

                /// The oldest notification. Waits for one if there is none. Nil at the end.
                public mutating func next() async -> RemoteNotification? {
                    await hub.next(for: device).map { RemoteNotification(told: $0) }
                }

                /// The oldest notification. Waits for one if there is none. Nil at the end.
                public mutating func next(isolation actor: isolated (any Actor)?) async -> RemoteNotification? {
                    await hub.next(for: device).map { RemoteNotification(told: $0) }
                }
            }

            /// Begins to iterate.
            public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(hub: hub, device: device) }
        }
    }

    // MARK: Registering

    /// A device of a person. Creates it if the person has none of that name. From then on the store keeps its
    /// notifications, until it is removed.
    ///
    /// - Parameters:
    ///   - name: The name, unique among the person's devices.
    ///   - account: The owner of the device.
    /// - Returns: The device.
    /// - Throws: ``StratusError`` with `unknownAccount`, and with `invalidArgument` if the name is empty or too long,
    ///   or the person has the maximum number of devices (``Options/deviceCount``).
    public func device(_ name: String, signedInAs account: Account) throws -> Device {
        try device(DeviceAddress(account: account.accountID, name: name))
    }

    /// The device of containers that act for the signed-in account: those of `CKContainer.default()`,
    /// `CKContainer(identifier:)` and ``container(_:)``. Nil if no account is signed in.
    ///
    /// Its name is `local`. It is created when it is first requested; from then on it gets notifications of changes by
    /// the person's other devices.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public var localDevice: Device? {
        get throws {
            guard let account = session.account else { return nil }
            return try device(DeviceAddress(account: account, name: CloudSession.localDeviceName))
        }
    }

    /// The devices of a person, sorted by name; empty for a deleted account.
    ///
    /// - Throws: ``StratusError`` if the store fails or was closed.
    public func devices(of account: Account) throws -> [Device] {
        let id = account.accountID
        return try asking { try $0.devices(of: id) }.sorted { $0.name < $1.name }.map { Device($0, in: self) }
    }

    private func device(_ address: DeviceAddress) throws -> Device {
        try asking { try $0.registerDevice(address) }
        return Device(address, in: self)
    }

    // Notifications, as a host gets them for a person's device.

    /// A notification for a device: as a CloudKit object, and as the dictionary that the system gives to an app.
    ///
    /// A host that reaches its devices over a network sends `userInfo`, as JSON or a property list. The app there
    /// converts it to a notification with `CKNotification(fromRemoteNotificationDictionary:)`.
    public struct RemoteNotification: Hashable, Sendable, CustomStringConvertible {
        let told: ClientNotification

        /// The notification, of the class of its kind. Every access returns a new object.
        public var notification: CKNotification { CKNotification.make(NotificationContent(told)) }

        /// The payload: `aps`, as in Apple's push service, and `ck`. It contains only Foundation's dictionaries, lists,
        /// texts and numbers, so that you can convert it to JSON and property lists.
        public var userInfo: [AnyHashable: Any] { NotificationPayload.dictionary(of: told) }

        /// The notification's description.
        public var description: String { notification.description }
    }

    // Web tokens, for hosts that also have a web service.

    /// The account for which a client got this token with a `CKFetchWebAuthTokenOperation`. With it, a web service of
    /// the host identifies its callers.
    ///
    /// ```swift
    /// guard let account = try cloud.account(
    ///     webAuthToken: request.token, apiToken: "my-web-app", container: "iCloud.com.example.app")
    /// else { return .unauthorized }
    /// ```
    ///
    /// - Parameters:
    ///   - token: The token that the service received.
    ///   - apiToken: The name of the service, as the client passed it.
    ///   - container: The container in which the client acts.
    ///   - age: The maximum age of the token in seconds. Default: two weeks.
    /// - Returns: The account. Nil if this store did not create the token for this container and service, if the token
    ///   is too old, or if the account is deleted, closed or restricted.
    /// - Throws: ``StratusError`` if the store fails or was closed.
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
