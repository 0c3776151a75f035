// Properties that moved to the configuration. Setting one sets it there.

public import Foundation

extension CKOperation {
    /// The container; nil for the default one.
    @available(*, deprecated, message: "Use configuration.container.")
    public final var container: CKContainer? {
        get { configuration.container }
        set { configure(\.container, newValue) }
    }

    /// Without meaning here, since no request leaves the machine.
    @available(*, deprecated, message: "Use configuration.allowsCellularAccess.")
    public final var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configure(\.allowsCellularAccess, newValue) }
    }

    /// Whether the operation outlives its process (O-14).
    @available(*, deprecated, message: "Use configuration.isLongLived.")
    public final var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configure(\.isLongLived, newValue) }
    }

    /// How many seconds one request may take.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForRequest.")
    public final var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configure(\.timeoutIntervalForRequest, newValue) }
    }

    /// How many seconds the operation may take.
    @available(*, deprecated, message: "Use configuration.timeoutIntervalForResource.")
    public final var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configure(\.timeoutIntervalForResource, newValue) }
    }

    private func configure<Value>(_ property: ReferenceWritableKeyPath<Configuration, Value>, _ value: Value) {
        let configuration: Configuration = configuration
        configuration[keyPath: property] = value
    }
}
