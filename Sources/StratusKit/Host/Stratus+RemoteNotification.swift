// What a host gets for a person's device, to hand to the app there.

import StratusCloud

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
