// Inside a target the folders have an order, low to high, and a lower folder never names a type of a higher one.
//
// It is a scan of names: a type counts when it is declared at the top level of a file of the higher folder and nowhere
// at or below the file that names it. Members (`.Name`) are ignored. Files directly in the target are the lowest unless
// the page lists `.` elsewhere.

enum FolderOrderRule {
    static func findings(in sources: [SwiftSource], folders: [String: [String]]) -> [Finding] {
        Dictionary(grouping: sources.filter { $0.sourceTarget != nil }) { $0.sourceTarget ?? "" }
            .sorted { $0.key < $1.key }
            .flatMap { target, files in findings(in: files, of: target, order: folders[target] ?? []) }
    }

    private static func findings(in files: [SwiftSource], of target: String, order: [String]) -> [Finding] {
        let used = Set(files.map(\.folder)).subtracting(["."])
        let unlisted = used.subtracting(order).sorted()
        guard unlisted.isEmpty else {
            return unlisted.map { folder in
                Finding("Sources/\(target)/\(folder)", "list this folder in \(Architecture.path), folders, low to high")
            }
        }
        func rank(_ folder: String) -> Int { order.firstIndex(of: folder) ?? -1 }
        // The lowest folder that declares a name is the one that counts.
        var home: [String: SwiftSource] = [:]
        for file in files {
            for type in file.declaredTypes {
                guard let other = home[type.text], rank(other.folder) <= rank(file.folder) else {
                    home[type.text] = file
                    continue
                }
            }
        }
        return files.flatMap { file in
            file.tokens.indices.compactMap { index in
                let token = file.tokens[index]
                guard let declaration = home[token.text], rank(declaration.folder) > rank(file.folder) else {
                    return nil
                }
                guard index == 0 || file.tokens[index - 1].text != "." else { return nil }
                return Finding(
                    file.path, line: token.line,
                    "\(token.text) is declared higher, in \(declaration.folder): a lower folder may not name it")
            }
        }
    }
}
