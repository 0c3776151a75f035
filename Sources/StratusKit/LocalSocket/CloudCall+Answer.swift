// Requests of clients that come over a socket are carried out by the server as any others.

import StratusCloud
import StratusModel

extension CloudCall {
    /// Throws `CloudError` where the request fails as a whole.
    func answer(by server: any CloudServer) throws -> any Encodable {
        switch self {
        case .modifyRecords(let request, let caller, let database):
            let answer = try server.modifyRecords(request, as: caller, in: database)
            return AnsweredRecords(
                saves: answer.saves.map { Outcome($0) }, deletes: answer.deletes.map { Outcome($0) },
                endedShares: answer.endedShares)
        case .fetchRecords(let request, let caller, let database):
            return try server.fetchRecords(request, as: caller, in: database).records.map { Outcome($0) }
        case .modifyZones(let request, let caller, let database):
            let answer = try server.modifyZones(request, as: caller, in: database)
            return AnsweredZones(
                saves: answer.saves.map { Outcome($0) }, deletes: answer.deletes.map { Outcome($0) },
                endedShares: answer.endedShares)
        case .fetchZones(let request, let caller, let database):
            return try server.fetchZones(request, as: caller, in: database)
                .map { FetchedZone(address: $0, zone: Outcome($1)) }
        case .checkItemCount(let count):
            try server.checkItemCount(count)
            return Done()
        case .isTooLarge(let path): return try server.isTooLarge(fileAt: path)
        case .copyAsset(let asset, let field, let record, let caller, let database):
            let path = try server.copyAsset(asset, in: field, of: record, as: caller, in: database)
            server.releaseCopies([path], unseen: [])
            return path
        case .copyAssets(let wanted, let caller, let database):
            let paths = try server.copyAssets(wanted, as: caller, in: database, under: nil) { true }
            // Nobody here sees what becomes of them: they age from the beginning.
            server.releaseCopies(paths.compactMap { try? $0.get() }, unseen: [])
            return paths.map { Outcome($0) }
        default: return try answerOfPeople(by: server)
        }
    }

    private func answerOfPeople(by server: any CloudServer) throws -> any Encodable {
        switch self {
        case .accountStatus(let caller): return try server.accountStatus(of: caller)
        case .userName(let caller): return try server.userName(of: caller)
        case .isDiscoverable(let caller): return try server.isDiscoverable(caller)
        case .discover(let lookups, let caller): return try server.discover(lookups, as: caller)
        case .shareParticipants(let lookups, let caller):
            return try server.shareParticipants(for: lookups, as: caller).map { Outcome($0) }
        case .shareMetadata(let request, let caller):
            return try server.shareMetadata(request, as: caller).map { Outcome($0) }
        case .acceptShares(let urls, let caller):
            return try server.acceptShares(urls, as: caller).map { Outcome($0) }
        case .requestShareAccess(let urls, let caller):
            return try server.requestShareAccess(urls, as: caller).map { Outcome($0) }
        default:
            throw CloudError(.internalError, "The host knows the request and has no answer for it.")
        }
    }
}
