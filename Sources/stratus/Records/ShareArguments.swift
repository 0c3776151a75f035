// What verbs about shares are told.

import ArgumentParser
import StratusCloud
import StratusKit
import StratusModel

/// What people may do with shared records.
enum PermissionChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case none
    case readOnly
    case readWrite

    var permission: CKShare.ParticipantPermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

/// Whether a share's secret is wanted.
struct URLArguments: ParsableArguments {
    @Flag(help: "Show the share's URL too, which is a secret: whoever is invited may accept by it.")
    var url = false

    /// The URL where it was asked for. What a host has URLs begin with is its own choice and in no store.
    func url(of content: ShareContent) -> String? {
        url ? ShareLink.url(CloudOptions().shareURLBase, content.token) : nil
    }
}

extension URLArguments {
    /// For verbs that never show it.
    static var silent: URLArguments {
        var arguments = URLArguments()
        arguments.url = false
        return arguments
    }
}

/// What people are to a share.
enum RoleChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    case privateUser
    case administrator

    var role: CKShare.ParticipantRole {
        switch self {
        case .privateUser: .privateUser
        case .administrator: .administrator
        }
    }
}

/// The words of shares, as they stand in JSON.
enum ShareWords {
    static func text(_ role: CKShare.ParticipantRole) -> String {
        ParticipantRole(rawValue: UInt8(clamping: role.rawValue)).map { "\($0)" } ?? "unknown"
    }

    static func text(_ permission: CKShare.ParticipantPermission) -> String {
        ParticipantPermission(rawValue: UInt8(clamping: permission.rawValue)).map { "\($0)" } ?? "unknown"
    }

    static func text(_ status: CKShare.ParticipantAcceptanceStatus) -> String {
        AcceptanceStatus(rawValue: UInt8(clamping: status.rawValue)).map { "\($0)" } ?? "unknown"
    }
}
