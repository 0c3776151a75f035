// Groups and configurations as values.

import Foundation
import StratusKit
import Testing

@Suite struct OperationGroupTests {
    @Test("a group has its own identity and remembers what is set")
    func values() {
        let group = CKOperationGroup()
        #expect(group.operationGroupID != CKOperationGroup().operationGroupID)
        #expect(group.name == nil)
        #expect(group.quantity == 0)
        #expect(group.expectedSendSize == .unknown)
        #expect(group.expectedReceiveSize == .unknown)
        #expect(CKOperationGroup.TransferSize.hundredsOfGigabytes.rawValue == 7)
        let configuration = CKOperation.Configuration()
        configuration.isLongLived = true
        group.defaultConfiguration = configuration
        configuration.isLongLived = false
        #expect(group.defaultConfiguration.isLongLived)
        group.defaultConfiguration = nil
        #expect(!group.defaultConfiguration.isLongLived)
    }

    @Test("[O-12] an archived group keeps its identity and its explicitly set defaults")
    func archive() throws {
        let group = CKOperationGroup()
        group.name = "import"
        group.quantity = 12
        group.expectedSendSize = .megabytes
        group.expectedReceiveSize = .kilobytes
        group.defaultConfiguration.timeoutIntervalForRequest = 5
        group.defaultConfiguration.allowsCellularAccess = false
        let data = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
        let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data))
        #expect(copy.operationGroupID == group.operationGroupID)
        #expect(copy.name == "import")
        #expect(copy.quantity == 12)
        #expect(copy.expectedSendSize == .megabytes)
        #expect(copy.expectedReceiveSize == .kilobytes)
        #expect(copy.defaultConfiguration.timeoutIntervalForRequest == 5)
        #expect(!copy.defaultConfiguration.allowsCellularAccess)
        // What was not set stays unset: the resource time-out still follows the quality of service.
        copy.defaultConfiguration.qualityOfService = .userInitiated
        #expect(copy.defaultConfiguration.timeoutIntervalForResource == .infinity)
    }

    @Test("a configuration is copied by assignment and changed in place by access")
    func configuration() {
        let operation = CKFetchRecordsOperation()
        operation.configuration.timeoutIntervalForRequest = 3
        #expect(operation.configuration.timeoutIntervalForRequest == 3)
        let mine = CKOperation.Configuration()
        mine.timeoutIntervalForRequest = 4
        operation.configuration = mine
        mine.timeoutIntervalForRequest = 5
        #expect(operation.configuration.timeoutIntervalForRequest == 4)
        operation.qualityOfService = .utility
        #expect(operation.configuration.qualityOfService == .utility)
        #expect(operation.configuration.allowsCellularAccess)
        #expect(!operation.configuration.isLongLived)
        operation.configuration = nil
        #expect(operation.configuration.timeoutIntervalForRequest == 60)
        #expect(operation.qualityOfService == .default)
    }
}
