guard let share = try await database.record(for: shareID) as? CKShare else { return 0 }
for participant in share.participants
where participant.userIdentity.lookupInfo?.emailAddress == email {
    share.removeParticipant(participant)
}
try await database.save(share)
