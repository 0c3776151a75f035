// Delivering: what commits have left behind becomes notifications that wait for their devices.

import StratusModel
import StratusRecords

extension CloudService {
    /// Delivers all that commits have left behind when this is called, in transactions of its own, and says which devices
    /// have something new. To be called when the host is told that there is something, and once when a store was opened.
    ///
    /// Throws the store's failures, and `internalError` where something that was left behind cannot be read: it stays, and
    /// everything else is delivered. `waitingDevices` says for whom.
    package func deliverNotifications() throws(CloudError) -> Set<DeviceAddress> {
        try answering {
            let (devices, damage) = try deliver()
            if let damage {
                deliveryBell.keep(devices)
                throw damage
            }
            return devices.union(deliveryBell.takeDevices())
        }
    }

    /// Delivers before something goes by which it is known whom it concerns. Which devices have something new is kept for
    /// whoever asks next; what cannot be read stays for them to find.
    func deliverBetween() throws { deliveryBell.keep(try deliver().devices) }

    private func deliver() throws -> (devices: Set<DeviceAddress>, damage: RecordsError?) {
        var devices: Set<DeviceAddress> = []
        var damage: RecordsError?
        var position: [UInt8]?
        // Nothing is written where nothing was left behind.
        while try engine.read({ try $0.hasOutbox(after: position) }) {
            let (start, seed) = (position, environment.identifiers.makeUUID())
            let step = try engine.transact { transaction in
                var run = DeliveryRun(self, transaction, seed: seed)
                return try run.run(after: start)
            }
            devices.formUnion(step.devices)
            damage = damage ?? step.damage
            position = step.last
            guard step.isMoreComing else { break }
        }
        return (devices, damage)
    }
}
