// What a container or an operation was made for: an open session, or the default store, which is opened when it is
// needed and, once closed, opened again.

import StratusStore

/// Where a session comes from. Containers and operations keep it from when they are made, so that they never end up in
/// another store than the one that was meant then.
package protocol SessionSource: AnyObject, Sendable {
    /// The session to use now. Opens what has to be opened, and never fails: what cannot be opened refuses requests.
    var session: CloudSession { get }
    /// The session where it is open already; nothing is opened.
    var openSession: CloudSession? { get }
    /// Objects that belong to the source.
    var sharedObjects: SharedObjects { get }
}

/// Objects that there is one of as long as somebody refers to it, such as the default container. They are not kept alive,
/// because they refer to the source.
package final class SharedObjects: Sendable {
    private let objects = Locked<[String: WeakObject]>([:])

    package init() {}

    /// The object under this key, or the one that `make` makes.
    package func object<Shared: AnyObject & Sendable>(for key: String, make: @Sendable () -> Shared) -> Shared {
        objects.withLock { objects in
            if let shared = objects[key]?.object as? Shared { return shared }
            let made = make()
            objects[key] = WeakObject(object: made)
            return made
        }
    }
}

struct WeakObject: Sendable {
    weak let object: (any AnyObject & Sendable)?
}
