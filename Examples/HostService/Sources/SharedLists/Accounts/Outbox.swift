// What the service would send by mail: a file with one JSON object a line, which only the service's user may read,
// because codes and links are secrets. A real service passes them to its mail system.

import Foundation
import NIOPosix
import StratusKit
import Synchronization

/// One mail.
struct Mail: Encodable, Sendable {
    /// The recipient.
    var to: String
    /// The subject.
    var subject: String
    /// The code to sign in with.
    var code: String?
    /// The link for accepting a share.
    var link: String?
}

/// Where mails are put.
///
/// `deliver` blocks its thread: call it on threads that may block, as the store's are. Tasks await `send`.
final class Outbox: Sendable {
    private let file: Mutex<FileHandle>

    /// Opens the outbox, and creates it if there is none.
    init(at url: URL) throws {
        if !FileManager.default.fileExists(atPath: url.path) {
            let isMade = FileManager.default.createFile(
                atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
            guard isMade else { throw CocoaError(.fileWriteNoPermission, userInfo: [NSFilePathErrorKey: url.path]) }
        }
        let handle = try FileHandle(forWritingTo: url)
        try handle.seekToEnd()
        file = Mutex(handle)
    }

    /// Delivers a mail on a thread that may block, while the task is suspended.
    func send(_ mail: Mail) async throws {
        try await NIOThreadPool.singleton.runIfActive { try self.deliver(mail) }
    }

    func deliver(_ mail: Mail) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = try encoder.encode(mail) + Data("\n".utf8)
        try file.withLock { try $0.write(contentsOf: line) }
    }
}

extension Mail {
    /// The message for an invited person; nil if they were invited without an address.
    init?(_ invitation: Stratus.Invitation) {
        guard let address = invitation.emailAddress else { return nil }
        self.init(
            to: address, subject: "You are invited to the list \(invitation.title ?? "of somebody")",
            link: invitation.url.absoluteString)
    }
}
