import FunctionsHTTPClient
import FunctionsRuntime
import MailModels

/// The provider's endpoint for sending. It takes JSON, as most providers do; adapt `ProviderMail` to yours.
let mailURL = defineString("MAIL_URL")
let mailSender = defineString("MAIL_FROM", default: "shop@example.com")
let mailKey = defineSecret("MAIL_KEY")

/// Sends the mails that are written as documents, each once. Security rules must not let clients write them: who can, sends
/// mails from your address.
@main
struct MailFunctions: FunctionBundle {
    var params: [ParamDefinition] {
        mailURL
        mailSender
    }

    var functions: [Function] {
        // The task and the event's end are one commit: no mail is forgotten, and none is queued twice.
        onDocumentCreated("queueMail", document: "mail/{id}", .retry()) { event, transaction in
            try transaction.enqueue(event.reference.documentID, to: "sendMail")
        }

        // The queue protects the provider: at most five requests at a time, and failed ones are retried for more than a day.
        onTaskDispatched(
            "sendMail", .secrets(mailKey), .rateLimits(maxConcurrentDispatches: 5),
            .retry(.exponential(from: .seconds(10), to: .hours(1), for: .days(1), attempts: 50))
        ) { (request: TaskRequest<String>) in
            let document = request.firestore.collection("mail").document(request.data)
            guard let mail = try await document.getDocumentIfExists(as: Mail.self)?.data, mail.delivery == nil
            else { return }
            let answer = try await fetch(
                mailURL.value,
                headers: [
                    "Authorization": "Bearer \(mailKey.value)",
                    // The provider recognizes a mail that an earlier attempt has sent.
                    "Idempotency-Key": request.data,
                ],
                body: .json(
                    ProviderMail(from: mailSender.value, to: mail.to, subject: mail.subject, text: mail.text)))
            if [400, 404, 422].contains(answer.status) {
                // Such as an address that doesn't exist: no attempt can succeed.
                let reason = (try? await answer.text(upTo: 1000)) ?? ""
                throw PermanentFailure("the provider refuses the mail: \(answer.status) \(reason)")
            }
            let sent = try await answer.requireSuccess().json(as: ProviderAnswer.self)
            try await document.updateData(["delivery": Mail.Delivery(id: sent.id, time: .now)])
        }
    }
}

private struct ProviderMail: Encodable, Sendable {
    var from: String
    var to: String
    var subject: String
    var text: String
}

private struct ProviderAnswer: Decodable {
    var id: String
}
