#include "mail_transfer.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const functions_mail *mail;
    size_t sent;
    /* Whether the receiver was named. A refusal before that concerns this host, not the message. */
    int has_receiver;
    /* The second number of the last refusal's enhanced status (RFC 3463), such as 7 of 5.7.1; 0 if it has none. */
    int subject;
    /* Whether the server has asked for the message. */
    int has_begun;
    /* Whether all of it was handed over. */
    int is_complete;
    int was_stopped;
    int (*should_stop)(void *);
    void *context;
} transfer;

static size_t read_message(char *buffer, size_t size, size_t count, void *pointer) {
    transfer *state = pointer;
    state->has_begun = 1;
    size_t rest = state->mail->length - state->sent;
    size_t part = size * count < rest ? size * count : rest;
    memcpy(buffer, state->mail->message + state->sent, part);
    state->sent += part;
    if (state->sent == state->mail->length) state->is_complete = 1;
    return part;
}

static int progress(
    void *pointer, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up) {
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    transfer *state = pointer;
    if (state->has_begun || !state->should_stop(state->context)) return 0;
    state->was_stopped = 1;
    return 1;
}

static int note(CURL *curl, curl_infotype type, char *text, size_t size, void *pointer) {
    (void)curl;
    transfer *state = pointer;
    if (type == CURLINFO_HEADER_OUT && size >= 5 && memcmp(text, "RCPT ", 5) == 0) state->has_receiver = 1;
    /* The reply to QUIT comes after it. */
    if (type == CURLINFO_HEADER_IN && size > 0 && text[0] == '5') {
        int is_enhanced = size >= 8 && text[4] >= '2' && text[4] <= '5' && text[5] == '.' && text[6] >= '0'
            && text[6] <= '9' && text[7] == '.';
        state->subject = is_enhanced ? text[6] - '0' : 0;
    }
    return 0;
}

/* What the server says isn't shown anywhere. */
static size_t ignore(char *buffer, size_t size, size_t count, void *pointer) {
    (void)buffer;
    (void)pointer;
    return size * count;
}

void functions_mail_prepare(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

static void fail(functions_mail_result *result, functions_mail_status status, const char *reason) {
    result->status = status;
    snprintf(result->reason, sizeof result->reason, "%s", reason);
}

static functions_mail_status status_of(CURLcode code, const transfer *state, long reply) {
    if (code == CURLE_OK) return functions_mail_accepted;
    if (state->was_stopped) return functions_mail_stopped;
    /* 354 asks for the message: a later reply would be the answer to it. */
    if (state->is_complete && (reply < 400 || reply > 599)) return functions_mail_lost;
    /* A wrong password isn't the message's fault, nor is a server that wants another encryption or one first. */
    /* Many servers refuse the sender or this host only once the receiver is named: with 5.7, not with 5.1 or 5.2. */
    int is_about_message = state->has_receiver && (state->has_begun || state->subject <= 2);
    if (is_about_message && code != CURLE_LOGIN_DENIED && code != CURLE_USE_SSL_FAILED && reply >= 550 && reply <= 559)
        return functions_mail_refused;
    return functions_mail_failed;
}

void functions_mail_send(
    const functions_mail *mail, int (*should_stop)(void *), void *context, functions_mail_result *result) {
    memset(result, 0, sizeof *result);
    CURL *curl = curl_easy_init();
    if (curl == NULL) return fail(result, functions_mail_failed, "there is no memory for the transfer");
    struct curl_slist *receivers = curl_slist_append(NULL, mail->to);
    if (receivers == NULL) {
        curl_easy_cleanup(curl);
        return fail(result, functions_mail_failed, "there is no memory for the transfer");
    }
    transfer state = {.mail = mail, .should_stop = should_stop, .context = context};
    char error[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Else a transfer that is stopped or out of time waits for the lookup of the server's name: 10 s and more while no name
       server answers. The lookup's thread ends by itself. */
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
#endif
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#endif
    /* Proxies of the environment are for the web. */
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_URL, mail->url);
    curl_easy_setopt(curl, CURLOPT_USE_SSL, (long)(mail->requires_tls ? CURLUSESSL_ALL : CURLUSESSL_NONE));
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (mail->authorities != NULL) curl_easy_setopt(curl, CURLOPT_CAINFO, mail->authorities);
    if (mail->user != NULL) {
        curl_easy_setopt(curl, CURLOPT_USERNAME, mail->user);
        curl_easy_setopt(curl, CURLOPT_PASSWORD, mail->password);
    }
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, mail->connect_seconds);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, mail->whole_seconds);
    curl_easy_setopt(curl, CURLOPT_MAIL_FROM, mail->from);
    curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, receivers);
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_message);
    curl_easy_setopt(curl, CURLOPT_READDATA, &state);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)mail->length);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &state);
    curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L);
    curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, note);
    curl_easy_setopt(curl, CURLOPT_DEBUGDATA, &state);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &result->reply);
    fail(result, status_of(code, &state, result->reply), error[0] != 0 ? error : curl_easy_strerror(code));
    curl_slist_free_all(receivers);
    curl_easy_cleanup(curl);
}
