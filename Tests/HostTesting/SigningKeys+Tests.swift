import DataDirectory
import Foundation
package import TokenVerification

extension SigningKeys {
    /// Keys of which the current one is that of ``TestIssuer/shared``, unless the directory has others.
    package static func ofTests(in directory: String, now: @escaping WallClock) throws -> SigningKeys {
        if !FileManager.default.fileExists(atPath: directory) {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try FileBytes.replace("signing-key.pem", in: directory, with: TestIssuer.shared.get().key.pem)
            try FileBytes.replace("next-signing-key.pem", in: directory, with: TestIssuer.next.get().key.pem)
        }
        return try SigningKeys(in: directory, now: now)
    }
}
