// Where an operation stands when it starts.

import Foundation
import StratusCloud

extension CKOperation {
    /// Where an operation stands that was added to a container or database, or made by a convenience call.
    struct Surroundings {
        /// The container it was added to.
        var scope: ContainerScope?
        /// The quality of service where nothing sets one.
        var qualityOfService = QualityOfService.default
        /// The session that counts the operation as under way.
        var countedBy: CloudSession?
        /// Why nothing is to be sent: the session takes no more requests, or the programmer made a mistake.
        var refusal: CKError?
        /// The mistake of a programmer who added it twice.
        var misuse: String?
        /// Where the operation is held that was found again, so that it is not dropped before it runs (O-14).
        var holder: LongLivedRegistry?
        /// Whether no block of a client's is called, so that a queue for them is not needed.
        var isInline = false

        /// The error that the operation fails with, without anything being sent.
        var whyRefused: CKError? {
            misuse.map { CKError(CloudError(.invalidArguments, text: $0)) } ?? refusal
        }
    }
}
