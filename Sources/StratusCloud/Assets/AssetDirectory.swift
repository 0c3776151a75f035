// Where the files of assets lie:
//   content/<owner>/<first byte>/<digest>   contents, hexadecimal, once per owner
//   incoming/<session>-<number>             contents on their way in
//   copies/<session>/<number>-<digest>      copies that were handed out
// Owners' names are escaped, so that any name is one name of a directory and can be read back. Escaped names that are too
// long for a directory, as a container's with many dots may be, are shortened: "=" and the container's name as it is. No
// escaped name has a "=", so no two owners share a directory.

import FoundationEssentials
import StratusLayout
import StratusModel

/// The paths below one directory of assets.
struct AssetDirectory: Sendable {
    let top: String
    /// Where sessions keep the copies they hand out.
    let copies: String
    /// The copies of this session.
    let sessionCopies: String
    private let session: String

    init(top: String, copies: String?, session: UUID) {
        self.top = top
        self.copies = copies ?? top + "/copies"
        self.session = session.uuidString
        sessionCopies = self.copies + "/" + self.session
    }

    var content: String { top + "/content" }
    var incoming: String { top + "/incoming" }

    func incomingFile(_ number: UInt64) -> String { "\(incoming)/\(session)-\(number)" }

    func owner(_ owner: UserName) -> String { content + "/" + Self.directoryName(of: owner) }

    func folder(of key: AssetKey) -> String { owner(key.owner) + "/" + Hex.text(Array(key.digest.prefix(1))) }

    func file(of key: AssetKey) -> String { folder(of: key) + "/" + Self.name(of: key) }

    static func name(of key: AssetKey) -> String { Hex.text(key.digest) }

    /// The byte with which the digests of a folder begin; nil for a folder that is none of ours.
    static func firstByte(ofFolder name: String) -> UInt8? {
        guard let bytes = Hex.bytes(name), bytes.count == 1, Hex.text(bytes) == name else { return nil }
        return bytes[0]
    }

    /// The digest that a file is named by; nil for a file that is none of ours.
    static func digest(ofFile name: String, in folder: String) -> [UInt8]? {
        guard name.utf8.count == 64, name.hasPrefix(folder), let digest = Hex.bytes(name) else { return nil }
        return Hex.text(digest) == name ? digest : nil
    }

    /// Bytes a directory's name may have.
    private static let maximumNameByteCount = 255

    /// Whether an owner's name can be the name of a directory.
    static func canHold(_ owner: UserName) -> Bool {
        !owner.text.isEmpty && directoryName(of: owner).utf8.count <= maximumNameByteCount
    }

    private static func directoryName(of owner: UserName) -> String {
        let name = escaped(owner.text)
        guard name.utf8.count > maximumNameByteCount, AssetStore.isPublicOwner(owner) else { return name }
        let container = owner.text.utf8.dropFirst(AssetStore.publicOwnerPrefix.utf8.count)
        guard container.allSatisfy({ isPlain($0) || $0 == UInt8(ascii: ".") }) else { return name }
        return "=" + String(Substring(container))
    }

    /// A name of which ASCII letters, digits, `_` and `-` stand for themselves, every other byte as `%xx`.
    private static func escaped(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            if isPlain(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + Hex.text([byte])
            }
        }
        return text
    }

    /// The owner whose directory has this name; nil for a directory that is none of ours.
    static func owner(ofDirectory name: String) -> UserName? {
        if name.utf8.first == UInt8(ascii: "=") {
            let owner = UserName(AssetStore.publicOwnerPrefix + String(name.dropFirst()))
            return directoryName(of: owner) == name ? owner : nil
        }
        var bytes: [UInt8] = []
        var rest = Substring(name).utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let decoded = Hex.bytes(Substring(rest.prefix(2))), decoded.count == 1 else { return nil }
                bytes += decoded
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        return directoryName(of: UserName(text)) == name ? UserName(text) : nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }
}
