// Errors as clients catch, cast and read them.

import Foundation
import StratusKit
import Testing

@Suite struct ErrorTests {
    @Test("the codes have the numbers of Apple's framework")
    func rawValues() {
        let names = CKError.Code.allCases.map { "\($0.rawValue) \($0)" }
        #expect(
            names == [
                "1 internalError", "2 partialFailure", "3 networkUnavailable", "4 networkFailure", "5 badContainer",
                "6 serviceUnavailable", "7 requestRateLimited", "8 missingEntitlement", "9 notAuthenticated",
                "10 permissionFailure", "11 unknownItem", "12 invalidArguments", "13 resultsTruncated",
                "14 serverRecordChanged", "15 serverRejectedRequest", "16 assetFileNotFound", "17 assetFileModified",
                "18 incompatibleVersion", "19 constraintViolation", "20 operationCancelled", "21 changeTokenExpired",
                "22 batchRequestFailed", "23 zoneBusy", "24 badDatabase", "25 quotaExceeded", "26 zoneNotFound",
                "27 limitExceeded", "28 userDeletedZone", "29 tooManyParticipants", "30 alreadyShared",
                "31 referenceViolation", "32 managedAccountRestricted", "33 participantMayNeedVerification",
                "34 serverResponseLost", "35 assetNotAvailable", "36 accountTemporarilyUnavailable",
                "37 participantAlreadyInvited",
            ])
    }

    @Test("a catch clause with a code catches that code and no other")
    func catching() {
        func caught(_ error: any Error) -> String {
            do {
                throw error
            } catch CKError.zoneNotFound {
                return "zone"
            } catch let error as CKError where error.code == .unknownItem {
                return "item"
            } catch {
                return "other"
            }
        }
        #expect(caught(CKError(.zoneNotFound)) == "zone")
        #expect(caught(CKError(.unknownItem)) == "item")
        #expect(caught(CKError(.zoneBusy)) == "other")
        #expect(caught(CancellationError()) == "other")
        #expect(caught(NSError(domain: CKErrorDomain, code: CKError.zoneNotFound.rawValue)) == "zone")
        #expect(caught(NSError(domain: "other", code: CKError.zoneNotFound.rawValue)) == "other")
    }

    @Test("an error bridges to an NSError with domain, code and user info, and back")
    func bridging() {
        let error: any Error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 3.5)])
        let bridged = error as NSError
        #expect(bridged.domain == CKErrorDomain)
        #expect(bridged.code == CKError.Code.zoneBusy.rawValue)
        #expect(bridged.userInfo[CKErrorRetryAfterKey] as? Double == 3.5)
        let back = CKError(_nsError: bridged)
        #expect(back.code == .zoneBusy)
        #expect(back.retryAfterSeconds == 3.5)
        #expect(CKError(_nsError: NSError(domain: CKErrorDomain, code: 26)).code == .zoneNotFound)
        #expect((error as? CKError)?.errorCode == 23)
        #expect(CKError.errorDomain == "CKErrorDomain")
    }

    @Test("an error casts to an NSError, and an NSError of the domain to a CKError, by every kind of cast")
    func casts() throws {
        func code(_ error: any Error) -> Int {
            do {
                throw error
            } catch let error as NSError where error.domain == CKErrorDomain {
                return error.code
            } catch {
                return 0
            }
        }
        let error: any Error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 3.5)])
        #expect(code(error) == 23)
        let object = try #require((error as Any) as? NSError)
        #expect(object.domain == CKErrorDomain)
        #expect(object.code == 23)
        #expect(object.userInfo[CKErrorRetryAfterKey] as? Double == 3.5)
        #expect(object.localizedDescription == error.localizedDescription)
        #expect((error as Any) is NSObject)

        let foreign: any Error = NSError(
            domain: CKErrorDomain, code: CKError.requestRateLimited.rawValue, userInfo: [CKErrorRetryAfterKey: 7.0])
        #expect((foreign as? CKError)?.code == .requestRateLimited)
        #expect((foreign as? CKError)?.retryAfterSeconds == 7)
        #expect((object as? CKError)?.code == .zoneBusy)
        #expect(!(NSError(domain: NSCocoaErrorDomain, code: 23) as any Error is CKError))
        #expect(!(CancellationError() as any Error is CKError))

        let outcome: Result<Int, any Error> = .failure(error)
        if case .failure(let error as NSError) = outcome {
            #expect(error.code == 23)
        } else {
            Issue.record("no NSError")
        }
        let outer = NSError(domain: "outer", code: 1, userInfo: [NSUnderlyingErrorKey: error])
        #expect((outer.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == 23)
        #expect((outer.userInfo[NSUnderlyingErrorKey] as? CKError)?.code == .zoneBusy)
    }

    @Test("the user info is where Swift 3 programs look for it")
    func oldUserInfo() {
        let error: any Error = CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: NSNumber(value: 3.5)])
        #expect((error._userInfo as? NSDictionary)?[CKErrorRetryAfterKey] as? NSNumber == 3.5)
        #expect(error._code == 23)
        #expect(error._domain == CKErrorDomain)
        #expect((error as NSError).userInfo[CKErrorRetryAfterKey] as? Double == 3.5)
    }

    @Test("a client can create the error with texts of its own")
    func ownSentences() {
        #expect(!(CKError(.zoneBusy) is any LocalizedError))
    }

    @Test("errors are equal by code and user info")
    func equality() {
        #expect(CKError(.zoneBusy) == CKError(.zoneBusy))
        #expect(CKError(.zoneBusy) != CKError(.zoneNotFound))
        #expect(Set([CKError(.zoneBusy), CKError(.zoneBusy)]).count == 1)
        #expect(CKError(.zoneBusy).hashValue == CKError(.zoneBusy).hashValue)
    }

    @Test("[X-34] an error with numbers of Swift in its user info equals itself and one like it")
    func numbers() {
        for (value, other) in [(3.0, 4.0), (3, 4), (true, false), (Int64(-1), UInt64.max)] as [(Any, Any)] {
            func error(_ value: Any) -> CKError { CKError(.zoneBusy, userInfo: [CKErrorRetryAfterKey: value]) }
            #expect(error(value) == error(value))
            #expect(Set([error(value)]).contains(error(value)))
            #expect(error(value) != error(other))
        }
    }

    @Test(
        "[X-34] an error that a client creates has Foundation's text, and equals an NSError of its code and user info"
    )
    func descriptions() {
        for code in CKError.Code.allCases {
            let foundations = NSError(domain: CKErrorDomain, code: code.rawValue)
            let error = CKError(code)
            #expect(error.localizedDescription == foundations.localizedDescription)
            #expect((error as any Error).localizedDescription == foundations.localizedDescription)
            #expect((error as NSError) == foundations)
            #expect(foundations as? CKError == error)
        }
        let info: [String: Any] = [CKErrorRetryAfterKey: NSNumber(value: 3), "reason": "busy"]
        let foundations = NSError(domain: CKErrorDomain, code: 23, userInfo: info)
        #expect(CKError(.zoneBusy, userInfo: info) as NSError == foundations)
        #expect(CKError(.zoneBusy) as NSError != foundations)
        #expect(CKError(.zoneNotFound, userInfo: info) as NSError != foundations)
        let own = CKError(.zoneBusy, userInfo: [NSLocalizedDescriptionKey: "Busy with Notes."])
        #expect(own.localizedDescription == "Busy with Notes.")
        #expect((own as any Error).localizedDescription == "Busy with Notes.")
        #expect("\(own)".contains("zoneBusy (23)"))
    }

    @Test("[A-06] the errors of items cast to every dictionary that clients use")
    func partialErrors() throws {
        let recordID = CKRecord.ID(recordName: "r")
        let errors: [AnyHashable: any Error] = [recordID: CKError(.unknownItem)]
        let error = CKError(.partialFailure, userInfo: [CKPartialErrorsByItemIDKey: errors])
        #expect((error.partialErrorsByItemID?[recordID] as? CKError)?.code == .unknownItem)
        let stored = error.userInfo[CKPartialErrorsByItemIDKey]
        #expect((stored as? [AnyHashable: CKError])?[recordID]?.code == .unknownItem)
        #expect((stored as? [NSObject: CKError])?[recordID]?.code == .unknownItem)
        #expect(((stored as? [CKRecord.ID: any Error])?[recordID] as? CKError)?.code == .unknownItem)
        #expect((stored as? [CKRecord.ID: CKError])?[recordID]?.code == .unknownItem)
        #expect((stored as? NSDictionary)?.count == 1)
        #expect((stored as? [CKRecord.ID: NSError])?[recordID]?.code == CKError.unknownItem.rawValue)
        #expect((stored as? [AnyHashable: NSError])?[recordID]?.domain == CKErrorDomain)
        #expect((stored as? [NSObject: NSError])?[recordID]?.code == CKError.unknownItem.rawValue)
        #expect(((stored as? NSDictionary)?[recordID] as? NSError)?.code == CKError.unknownItem.rawValue)
        #expect(((stored as? NSDictionary)?[recordID] as? CKError)?.code == .unknownItem)
        let bridged = (error as any Error) as NSError
        #expect((bridged.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error])?.count == 1)
        #expect((bridged.userInfo[CKPartialErrorsByItemIDKey] as? [CKRecord.ID: NSError])?[recordID]?.code == 11)
    }

    @Test("the records of a conflict are in the user info")
    func conflict() {
        let records = (1...3).map { CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "\($0)")) }
        let error = CKError(
            .serverRecordChanged,
            userInfo: [
                CKRecordChangedErrorAncestorRecordKey: records[0], CKRecordChangedErrorServerRecordKey: records[1],
                CKRecordChangedErrorClientRecordKey: records[2],
            ])
        #expect(error.ancestorRecord === records[0])
        #expect(error.serverRecord === records[1])
        #expect(error.clientRecord === records[2])
        #expect(CKError(.zoneBusy).serverRecord == nil)
        #expect(CKError(.zoneBusy).partialErrorsByItemID == nil)
        #expect(CKError(.zoneBusy).retryAfterSeconds == nil)
    }
}
