// Limits of a request as a whole. A request over one of them fails whole, and a client splits it (L-01).

enum RequestLimits {
    /// Throws `limitExceeded` for more items than one request may have.
    static func checkItemCount(_ count: Int, _ options: CloudOptions) throws(CloudError) {
        try RequestSize(options).check(itemCount: count)
    }

    /// Throws `limitExceeded` for more bytes than a client may send with a change (T-11).
    static func checkClientToken(_ token: [UInt8]?, _ options: CloudOptions) throws(CloudError) {
        guard let token, token.count > options.clientChangeTokenByteCount else { return }
        throw CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit,
            "What the client wants to recognise its change by is too large: send an identifier.",
            ["bytes": "\(token.count)", "limit": "\(options.clientChangeTokenByteCount)"])
    }

    /// Throws `limitExceeded` for more bytes than one request may have, assets not counted.
    static func checkByteCount(of request: ModifyRecordsRequest, _ options: CloudOptions) throws(CloudError) {
        let byteCount = request.saves.reduce(0) { $0 + $1.contentByteCount(request.policy) }
        guard byteCount > options.requestByteCount else { return }
        throw CloudError(
            .limitExceeded, inner: CloudError.InnerCode.limit, "The request is too large: split it in half.",
            ["bytes": "\(byteCount)", "limit": "\(options.requestByteCount)"])
    }
}
