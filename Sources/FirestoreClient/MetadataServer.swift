import DocumentModel
package import HostProcess
package import OutboundHTTP

/// Google's cloud tells a machine what it is at an address that only its own machines have.
package struct MetadataServer: Sendable {
    private let host: String
    private let transport: any OutboundTransport

    /// Short, since elsewhere than in Google's cloud there is no such server.
    private static let limits = OutboundLimits(maxBytes: 1024, whole: .seconds(3))

    /// - Parameter variables: of which `GCE_METADATA_HOST` names another host, as Google's libraries have it.
    package init(_ variables: [String: String], transport: any OutboundTransport) {
        host = variables["GCE_METADATA_HOST"].flatMap { $0.isEmpty ? nil : $0 } ?? "metadata.google.internal"
        self.transport = transport
    }

    /// The project that the machine belongs to.
    ///
    /// - Throws: a sentence that says what to do in place of asking.
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
        guard answer.status == 200 else { throw failure("answers with status \(answer.status)") }
        let project = String(decoding: answer.body, as: UTF8.self).filter { !$0.isWhitespace }
        guard ProjectID.isValid(project) else { throw failure("answers with what is no project id") }
        return project
    }

    private func failure(_ reason: String) -> HostError {
        HostError(
            "the project isn't known: GOOGLE_CLOUD_PROJECT isn't set, and the metadata server \(host) \(reason). Set it "
                + "to your Firebase project's id")
    }
}
