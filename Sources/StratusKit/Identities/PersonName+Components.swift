// Names of people between the server and Foundation.

import Foundation
import StratusModel

extension PersonNameComponents {
    init(_ name: PersonName) {
        self.init()
        namePrefix = name.prefix
        givenName = name.given
        middleName = name.middle
        familyName = name.family
        nameSuffix = name.suffix
        nickname = name.nickname
    }
}

extension PersonName {
    init(_ components: PersonNameComponents) {
        self.init(
            prefix: components.namePrefix, given: components.givenName, middle: components.middleName,
            family: components.familyName, suffix: components.nameSuffix, nickname: components.nickname)
    }

    /// The parts in a fixed order, as they stand in archives.
    var parts: [String?] { [prefix, given, middle, family, suffix, nickname] }

    /// A name of its parts, empty ones left out; nil for another number of parts.
    init?(parts: [String]) {
        guard parts.count == 6 else { return nil }
        let parts = parts.map { $0.isEmpty ? nil : $0 }
        self.init(
            prefix: parts[0], given: parts[1], middle: parts[2], family: parts[3], suffix: parts[4],
            nickname: parts[5])
    }
}
