// Limits that can be asked for before a request is made: for who has much to do for it first.

/// How much one request may have.
package struct RequestSize: Hashable, Codable, Sendable {
    /// Items, whatever they are.
    package var itemCount: Int
    /// Bytes of records, assets not counted.
    package var byteCount: Int

    /// What a request may have unless a host says otherwise.
    package init() { self.init(CloudOptions()) }

    init(_ options: CloudOptions) {
        itemCount = options.requestItemCount
        byteCount = options.requestByteCount
    }

    /// Throws `limitExceeded` for more items than one request may have (L-01).
    package func check(itemCount: Int) throws(CloudError) {
        guard itemCount > self.itemCount else { return }
        throw CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit, "The request has too many items: split it in half.",
            ["items": "\(itemCount)", "limit": "\(self.itemCount)"])
    }
}

extension CloudService {
    /// What one request may have (L-01).
    package func requestLimits() -> RequestSize { RequestSize(options) }

    /// Whether a file is larger than an asset may be (L-04); not of one that cannot be looked at.
    package func isTooLarge(fileAt path: String) -> Bool {
        guard let assets else { return false }
        do throws(CloudError) {
            _ = try assets.byteCount(ofFile: path)
            return false
        } catch {
            return error.code == .limitExceeded
        }
    }
}
