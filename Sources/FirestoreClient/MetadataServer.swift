import DocumentModel
package import HostProcess
package import OutboundHTTP

/// Google Cloud's metadata server, which describes the machine and is reachable from Google Cloud's machines only.
package struct MetadataServer: Sendable {
    private let host: String
    private let transport: any OutboundTransport

    /// Short, because outside of Google Cloud there is no such server.
    private static let limits = OutboundLimits(maxBytes: 1024, whole: .seconds(3))

    /// - Parameter variables: the environment; `GCE_METADATA_HOST` overrides the host, as in Google's libraries.
    package init(_ variables: [String: String], transport: any OutboundTransport) {
        host = Self.host(variables)
        self.transport = transport
    }

    static func host(_ variables: [String: String]) -> String {
        variables["GCE_METADATA_HOST"].flatMap { $0.isEmpty ? nil : $0 } ?? "metadata.google.internal"
    }

    /// The address of the service account that the process runs as; nil if it runs as none.
    package func serviceAccount() async throws(OutboundError) -> String? {
        let answer = try await transport.send(
            OutboundRequest(
                to: "http://\(host)/computeMetadata/v1/instance/service-accounts/default/email",
                headers: ["Metadata-Flavor": "Google"], limits: Self.limits))
        guard answer.status < 500, answer.status != 429 else {
            throw OutboundError(.notSent, host: host, "the metadata server returned status \(answer.status)")
        }
        let email = String(decoding: answer.body, as: UTF8.self).filter { !$0.isWhitespace }
        return answer.status == 200 && email.contains("@") ? email : nil
    }

    /// The project that the machine belongs to.
    ///
    /// - Throws: an error that tells the operator what to set instead.
    package func project() async throws(HostError) -> String {
        let answer: OutboundResponse
        do throws(OutboundError) {
            answer = try await transport.send(
                OutboundRequest(
                    to: "http://\(host)/computeMetadata/v1/project/project-id",
                    headers: ["Metadata-Flavor": "Google"], limits: Self.limits))
        } catch {
            throw failure("can't be reached: \(error.reason)")
        }
        guard answer.status == 200 else { throw failure("returned status \(answer.status)") }
        let project = String(decoding: answer.body, as: UTF8.self).filter { !$0.isWhitespace }
        guard ProjectID.isValid(project) else { throw failure("returned an invalid project id") }
        return project
    }

    private func failure(_ reason: String) -> HostError {
        HostError(
            "the project is unknown: GOOGLE_CLOUD_PROJECT isn't set, and the metadata server \(host) \(reason). Set it "
                + "to your Firebase project's id")
    }
}
