// What belongs to one request beside the request itself.

import Foundation
import Hummingbird

struct ServiceContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    /// Who has sent the request; nil where nobody needs to be signed in.
    var person: Person?

    var maxUploadSize: Int { Limits.bodyByteCount }

    /// The same answer is the same text each time.
    var responseEncoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// Who has sent the request.
    func signedIn() throws -> Person {
        guard let person else { throw Sessions.Refusal.unknownToken }
        return person
    }
}
